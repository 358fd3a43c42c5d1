import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '../../browser/router.tsx'
import { useLiveEhr } from '../../model/live.ts'
import type { PageProps } from '../../model/page-props.ts'
import { ehrKey } from '../../model/queries.ts'
import { formatMoment, formatNumber, kindName, quantityName, unitName } from '../../texts/format.ts'
import { useText } from '../../texts/translate.ts'
import { FailureNote } from '../../ui/failure-note.tsx'
import { useSubmit } from '../../ui/form/form.tsx'
import { Loaded } from '../../ui/loaded.tsx'
import { Table } from '../../ui/table/table.tsx'
import { PatientBanner } from '../patient/patient-banner.tsx'
import { type HistoryPlace, historyQuery, restoreVersion, type Version } from './history-query.ts'

/** What was changed in a measurement, by whom and when; each former version can be brought back. */
export default function HistoryPage({ me, params }: PageProps) {
  const t = useText()
  const { ehrId = '', kind = '', recordId = '' } = params
  useLiveEhr(ehrId)
  const place = { ehrId, kind, recordId }
  const history = useQuery(historyQuery(place))
  return (
    <>
      <PatientBanner ehrId={ehrId} />
      <h2>{t('history.of', { kind: kindName(kind) })}</h2>
      <p>
        <Link to={`/patients/${ehrId}?kind=${kind}`}>{t('back')}</Link>
      </p>
      <Loaded query={history} lines={6}>
        {(versions) => (
          <ol className="rows">
            {versions.map((version) => (
              <VersionRow
                key={version.version}
                {...{ mvUid: me.mvUid, place, version }}
                current={versions[0]?.version ?? 0}
              />
            ))}
          </ol>
        )}
      </Loaded>
    </>
  )
}

interface VersionRowProps {
  mvUid: string
  place: HistoryPlace
  version: Version
  /** Number of the newest version. */
  current: number
}

function VersionRow({ mvUid, place, version, current }: VersionRowProps) {
  const t = useText()
  const queries = useQueryClient()
  const { version: number, at, userId, action, differences } = version
  const restoring = useSubmit(async () => {
    await restoreVersion(place, number, current)
    await queries.invalidateQueries({ queryKey: ehrKey(place.ehrId) })
  })
  return (
    <li>
      <div className="grow">
        <h3>{t('history.version', { number })}</h3>
        <p className="help">
          {t(`action.${action}`)}, {formatMoment(at)}, {userId === mvUid ? t('you') : userId}
        </p>
        {differences.length > 0 && <Differences version={version} />}
        {restoring.problem && <FailureNote error={restoring.problem} />}
      </div>
      {number !== current && (
        <button type="button" aria-disabled={restoring.isBusy} onClick={restoring.submit}>
          {t('history.restore')} <span className="unseen">{t('history.version', { number })}</span>
        </button>
      )}
    </li>
  )
}

function Differences({ version: { version: number, differences } }: { version: Version }) {
  const t = useText()
  return (
    <Table
      heads={[t('history.field'), t('history.before'), t('history.after')]}
      caption={<caption className="unseen">{t('history.version', { number })}</caption>}
    >
      {differences.map(({ name, before, after }) => (
        <tr key={name}>
          <th scope="row">{fieldName(name, t)}</th>
          <td>
            <del>{valueText(before)}</del>
          </td>
          <td>
            <ins>{valueText(after)}</ins>
          </td>
        </tr>
      ))}
    </Table>
  )
}

const fieldName = (name: string, t: ReturnType<typeof useText>): string => {
  if (name === 'timestamp') return t('chart.time')
  if (name === 'comment') return t('history.comment')
  const [, quantity] = /^(\w+)Unit$/.exec(name) ?? []
  return quantity ? t('measure.unitOf', { name: quantityName(quantity, quantity) }) : quantityName(name, name)
}

function valueText(value: unknown): string {
  if (typeof value === 'number') return formatNumber(value)
  if (typeof value === 'string')
    return /^\d{4}-\d\d-\d\dT/.test(value) ? formatMoment(value) : unitName(value)
  return value === null || value === undefined ? '–' : JSON.stringify(value)
}

import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from '../../browser/router.tsx'
import { atPatient, type Me, recordPath } from '../../model/me.ts'
import type { PageProps } from '../../model/page-props.ts'
import { ehrKey } from '../../model/queries.ts'
import { formatMoment, kindName } from '../../texts/format.ts'
import { useText } from '../../texts/translate.ts'
import { FailureNote } from '../../ui/failure-note.tsx'
import { useSubmit } from '../../ui/form/form.tsx'
import { Loaded } from '../../ui/loaded.tsx'
import { NotFound } from '../../ui/not-found.tsx'
import { Table } from '../../ui/table/table.tsx'
import { RecordHeading } from '../banner/record-heading.tsx'
import { authorText, userText } from './author-text.ts'
import { fieldName, valueText } from './field-texts.ts'
import { historyQuery, type NamesById, restoreVersion, type Version } from './history-query.ts'
import { COMPOSITION, findRecord, type RecordKind, type RecordPlace } from './record-kinds.ts'

export default function HistoryPage({ me: self, params }: PageProps) {
  const me = atPatient(self, params)
  const place = findRecord(me.ehrId, params.record ?? '')
  return place ? <RecordHistory me={me} place={place} /> : <NotFound />
}

/** The page that shows such records: a nurse has the plan and the charts on that of the patient. */
const pathOfPage = (me: Me, page: string): string =>
  me.isPatient || page.startsWith('record')
    ? `${recordPath(me)}/${page}`
    : recordPath(me) + page.replace(/^\w+/, '')

/** The changes of a record, with author and time. Those who may change it can restore each former version. */
function RecordHistory({ me, place }: { me: Me; place: RecordPlace }) {
  const t = useText()
  const [restoredVersion, setRestoredVersion] = useState<number>()
  const history = useQuery(historyQuery(me, place))
  const { name, fields, page } = place.kind
  return (
    <>
      <RecordHeading me={me} title={t('history.of', { kind: kindName(name) })} />
      <p>
        <Link to={pathOfPage(me, page)}>{t('back')}</Link>
      </p>
      <p role="status">{restoredVersion && t('history.restored', { number: restoredVersion })}</p>
      <Loaded query={history} lines={6}>
        {({ record, versions, names, compositionId, mayRestore }) => (
          <>
            <h2>{valueText(record[fields[0] ?? ''])}</h2>
            {compositionId && (
              <p>
                {t('history.inDocument')}{' '}
                <Link to={`${recordPath(me)}/history/${COMPOSITION}/${compositionId}`}>
                  {t('history.ofDocument')}
                </Link>
              </p>
            )}
            <ol className="rows">
              {versions.map((version) => (
                <VersionRow
                  key={version.version}
                  {...{ me, place, version, names, mayRestore }}
                  current={versions[0]?.version ?? 0}
                  onRestored={() => setRestoredVersion(version.version)}
                />
              ))}
            </ol>
          </>
        )}
      </Loaded>
    </>
  )
}

interface VersionRowProps {
  me: Me
  place: RecordPlace
  version: Version
  names: NamesById
  mayRestore: boolean
  /** Number of the newest version. */
  current: number
  onRestored: () => void
}

function VersionRow({ me, place, version, names, mayRestore, current, onRestored }: VersionRowProps) {
  const t = useText()
  const queries = useQueryClient()
  const { version: number, at, action, differences } = version
  const restoring = useSubmit(async () => {
    await restoreVersion(place, number, current)
    await queries.invalidateQueries({ queryKey: ehrKey(place.ehrId) })
    onRestored()
  })
  return (
    <li>
      <div className="grow">
        <h3>{t('history.version', { number })}</h3>
        <p className="help">
          {t(`action.${action}`)}, {formatMoment(at)}, {authorText(me, names, version)}
        </p>
        {differences.length > 0 && <Differences {...{ me, names, version }} kind={place.kind} />}
        {restoring.problem && <FailureNote error={restoring.problem} />}
      </div>
      {mayRestore && number !== current && action !== 'delete' && (
        <button type="button" aria-disabled={restoring.isBusy} onClick={restoring.submit}>
          {t('history.restore')} <span className="unseen">{t('history.version', { number })}</span>
        </button>
      )}
    </li>
  )
}

interface DifferencesProps extends Pick<VersionRowProps, 'me' | 'version' | 'names'> {
  kind: RecordKind
}

function Differences({ me, kind: { words }, version, names }: DifferencesProps) {
  const t = useText()
  const textOf = (name: string, value: unknown) =>
    words[name] === 'user' && value != null ? userText(me, names, value) : valueText(value, words[name])
  return (
    <Table
      heads={[t('history.field'), t('history.before'), t('history.after')]}
      caption={<caption className="unseen">{t('history.version', { number: version.version })}</caption>}
      rows={version.differences.map(({ name, before, after }) => ({
        key: name,
        cells: [
          fieldName(name),
          <del key="before">{textOf(name, before)}</del>,
          <ins key="after">{textOf(name, after)}</ins>,
        ],
      }))}
    />
  )
}

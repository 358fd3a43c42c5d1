import { type QueryClient, queryOptions, useQuery } from '@tanstack/react-query'
import { Link } from '../../browser/router.tsx'
import { atPatient, type Me, recordPath, textFor } from '../../model/me.ts'
import type { PageProps } from '../../model/page-props.ts'
import { ehrKey } from '../../model/queries.ts'
import { readAll } from '../../session/list-pages.ts'
import { api } from '../../session/user-session.ts'
import { certaintyWord, isRetracted } from '../../texts/certainty.ts'
import { formatDate } from '../../texts/format.ts'
import { isolate, type TextId, translate, translateName, useText } from '../../texts/translate.ts'
import { Loaded } from '../../ui/loaded.tsx'
import { reactionsQuery } from '../banner/banner-query.ts'
import { RecordHeading } from '../banner/record-heading.tsx'
import { HistoryLink } from '../history/history-link.tsx'

interface RecordLine {
  /** Path within the EHR. */
  path: string
  name: string
  facts: string[]
  /** It is not true, or was entered by mistake. */
  isRetracted?: boolean
}

const present = (facts: readonly (string | null | undefined)[]): string[] =>
  facts.filter((one) => typeof one === 'string')
const word = (code: string | null) => code && translateName(`word.${code}`, code)
/** Of a reaction that the person still has, nothing is said. */
const pastWord = (status: string | null) => (status === 'active' ? null : word(status))
const day = (date: string | null) => date && formatDate(date)

interface Section {
  title: TextId
  read(path: { ehrId: string }, queries: QueryClient): Promise<RecordLine[]>
}

const SECTIONS: readonly Section[] = [
  {
    title: 'record.diagnoses',
    read: async (path) =>
      (await readAll((query) => api.GET('/ehr/{ehrId}/diagnosis', { params: { path, query } }))).map(
        ({ id, name, onset, status, severity, certainty, comment }) => ({
          path: `diagnosis/${id}`,
          name,
          facts: present([
            certaintyWord(certainty),
            ...(isRetracted(certainty) ? [] : [word(status), word(severity)]),
            day(onset),
            comment,
          ]),
          isRetracted: isRetracted(certainty),
        }),
      ),
  },
  {
    title: 'record.reactions',
    read: async ({ ehrId }, queries) =>
      (await queries.fetchQuery(reactionsQuery(ehrId))).map(
        ({ substance, criticality, status, verification, reactions, comment }) => ({
          path: `adversereaction/${encodeURIComponent(substance)}`,
          name: substance,
          facts: present([
            certaintyWord(verification),
            ...(isRetracted(verification) ? [] : [pastWord(status), word(criticality)]),
            ...(reactions ?? []).map(({ manifestation }) => manifestation),
            comment,
          ]),
          isRetracted: isRetracted(verification),
        }),
      ),
  },
  {
    title: 'record.medications',
    read: async (path) =>
      (await readAll((query) => api.GET('/ehr/{ehrId}/medication', { params: { path, query } }))).map(
        ({ id, name, dosage, status, start, comment }) => ({
          path: `medication/${id}`,
          name,
          facts: present([dosage, status && translate(`medication.${status}`), day(start), comment]),
          isRetracted: isRetracted(status),
        }),
      ),
  },
  {
    title: 'record.immunisations',
    read: async (path) =>
      (await readAll((query) => api.GET('/ehr/{ehrId}/immunisation', { params: { path, query } }))).map(
        ({ id, vaccine, date, status, targetDisease, comment }) => ({
          path: `immunisation/${id}`,
          name: vaccine,
          facts: present([day(date), targetDisease, status && translate(`immunisation.${status}`), comment]),
          isRetracted: isRetracted(status),
        }),
      ),
  },
  {
    title: 'record.devices',
    read: async (path) =>
      (await readAll((query) => api.GET('/ehr/{ehrId}/device', { params: { path, query } }))).map(
        ({ id, name, manufacturer, model, serial }) => ({
          path: `device/${id}`,
          name,
          facts: present([manufacturer, model, serial]),
        }),
      ),
  },
  {
    title: 'record.documents',
    read: async (path) =>
      (await readAll((query) => api.GET('/med/ehr/{ehrId}/composition', { params: { path, query } }))).map(
        ({ compositionId, name, start, updatedAt }) => ({
          path: `composition/${compositionId}`,
          name,
          facts: [formatDate(start ?? updatedAt)],
        }),
      ),
  },
]

const retractedLast = (lines: readonly RecordLine[]): RecordLine[] => [
  ...lines.filter((one) => !one.isRetracted),
  ...lines.filter((one) => one.isRetracted),
]

const recordQuery = (ehrId: string) =>
  queryOptions({
    queryKey: ehrKey(ehrId, 'record'),
    queryFn: ({ client }) => {
      const path = { ehrId }
      const readSection = async ({ title, read }: Section) => ({
        title,
        lines: retractedLast(await read(path, client)),
      })
      return Promise.all(SECTIONS.map(readSection))
    },
  })

/** The lasting parts of the record: diagnoses, reactions, medications, immunisations and devices; and documents. */
export default function RecordPage({ me: self, params }: PageProps) {
  const t = useText()
  const me = atPatient(self, params)
  const record = useQuery(recordQuery(me.ehrId))
  return (
    <>
      <RecordHeading me={me} title={me.isPatient ? textFor(me, 'record.title') : t('patient.record')} />
      <p className="links">
        {!me.isPatient && <Link to={recordPath(me)}>{t('back')}</Link>}
        <Link to={`${recordPath(me)}/record/timeline`}>{t('timeline.title')}</Link>
        <Link to={`${recordPath(me)}/record/deleted`}>{t('deletedRecords.title')}</Link>
      </p>
      <Loaded query={record}>
        {(sections) =>
          sections.map(({ title, lines }) => <Lines key={title} me={me} title={t(title)} lines={lines} />)
        }
      </Loaded>
    </>
  )
}

function Lines({ me, title, lines }: { me: Me; title: string; lines: readonly RecordLine[] }) {
  const t = useText()
  return (
    <section>
      <h2>{title}</h2>
      {lines.length === 0 && <p>{t('record.none')}</p>}
      <ul className="rows">
        {lines.map(({ path, name, facts, isRetracted: isStruck }) => (
          <li key={path}>
            <div className="grow">
              {isStruck ? <s>{name}</s> : <strong>{name}</strong>}
              <p className="help">{facts.map(isolate).join(', ')}</p>
            </div>
            <HistoryLink me={me} path={path} name={name} />
          </li>
        ))}
      </ul>
    </section>
  )
}

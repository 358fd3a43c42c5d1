import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query'
import type { components } from 'health-record-client'
import { useDraft } from '../../browser/drafts.ts'
import { api } from '../../session/user-session.ts'
import { useText } from '../../texts/translate.ts'
import { FailureNote } from '../../ui/failure-note.tsx'
import { ConfirmButton } from '../../ui/form/confirm-button.tsx'
import { TextField } from '../../ui/form/field.tsx'
import { Form, useSubmit } from '../../ui/form/form.tsx'
import { Loaded } from '../../ui/loaded.tsx'

export type StoredQuery = components['schemas']['StoredQueryResource']

const STORED_KEY = ['stored queries']

const storedQuery = queryOptions({
  queryKey: STORED_KEY,
  queryFn: async () => (await api.GET('/med/query', { params: { query: { limit: 1000 } } })).data,
})

interface StoredQueriesProps {
  mvUid: string
  /** The text that is typed. */
  q: string
  /** Only modellers store queries. */
  mayStore: boolean
  onOpen: (query: StoredQuery) => void
}

/** Queries that are stored for everybody, and a form for storing the one that is typed. */
export function StoredQueries({ mvUid, q, mayStore, onOpen }: StoredQueriesProps) {
  const t = useText()
  const storedQueries = useQuery(storedQuery)
  return (
    <details className="panel">
      <summary>{t('query.stored')}</summary>
      <Loaded query={storedQueries} lines={2}>
        {(items) => (
          <>
            {items.length === 0 && <p>{t('query.noneStored')}</p>}
            <ul className="rows">
              {items.map((query) => (
                <StoredRow key={query.name} {...{ query, mayStore, onOpen }} />
              ))}
            </ul>
            {mayStore && <StoreForm mvUid={mvUid} q={q} storedQueries={items} />}
          </>
        )}
      </Loaded>
    </details>
  )
}

/** Versions that are stored by the openEHR REST API, such as `org.example::name/1.0.0`, never change. */
const isFixedVersion = ({ name }: StoredQuery): boolean => name.includes('/')

interface StoredRowProps extends Pick<StoredQueriesProps, 'mayStore' | 'onOpen'> {
  query: StoredQuery
}

function StoredRow({ query, mayStore, onOpen }: StoredRowProps) {
  const t = useText()
  const queries = useQueryClient()
  const { name, description, version } = query
  const removing = useSubmit(async () => {
    const headers = { 'if-match': `"${version}"` }
    await api.DELETE('/med/query/{name}', { params: { path: { name } }, headers })
    await queries.invalidateQueries({ queryKey: STORED_KEY })
  })
  return (
    <li>
      <div className="grow">
        <strong>{name}</strong>
        {description && <p className="help">{description}</p>}
        {removing.problem && <FailureNote error={removing.problem} />}
      </div>
      <button type="button" onClick={() => onOpen(query)}>
        {t('query.open')} <span className="unseen">{name}</span>
      </button>
      {mayStore && !isFixedVersion(query) && (
        <ConfirmButton
          {...{ label: t('apps.remove'), about: name, yes: t('apps.removeYes') }}
          question={t('query.removeHelp', { name })}
          onConfirm={removing.submit}
        />
      )}
    </li>
  )
}

interface StoreFormProps extends Pick<StoredQueriesProps, 'mvUid' | 'q'> {
  storedQueries: readonly StoredQuery[]
}

/** Stores the typed query under a name. One with this name is replaced, unless somebody has changed it since. */
function StoreForm({ mvUid, q, storedQueries }: StoreFormProps) {
  const t = useText()
  const queries = useQueryClient()
  const { draft, change, clear } = useDraft(`${mvUid}:stored query`, () => ({ name: '', description: '' }))
  const { name, description } = draft
  const existing = storedQueries.find((one) => one.name === name.trim())
  const form = useSubmit(async () => {
    const headers: Record<string, string> = existing
      ? { 'if-match': `"${existing.version}"` }
      : { 'if-none-match': '*' }
    const body = { q, ...(description.trim() && { description: description.trim() }) }
    const params = { path: { name: name.trim() } }
    await api
      .PUT('/med/query/{name}', { params, body, headers })
      .finally(() => queries.invalidateQueries({ queryKey: STORED_KEY }))
    clear()
  })
  return (
    <Form form={form} submit={t(existing ? 'query.replace' : 'query.store')} saved={t('form.added')}>
      <TextField
        {...form.field('path.name')}
        label={t('query.name')}
        help={t('query.nameHelp')}
        value={name}
        onChange={(text) => change({ name: text })}
      />
      <TextField
        {...form.field('description')}
        label={t('query.description')}
        required={false}
        value={description}
        onChange={(text) => change({ description: text })}
      />
    </Form>
  )
}

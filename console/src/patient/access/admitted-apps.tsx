import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query'
import { READ_ON_RETURN } from '../../model/queries.ts'
import { readAll } from '../../session/list-pages.ts'
import { api } from '../../session/user-session.ts'
import { formatAge } from '../../texts/format.ts'
import { useText } from '../../texts/translate.ts'
import { FailureNote } from '../../ui/failure-note.tsx'
import { useSubmit } from '../../ui/form/form.tsx'

const ADMITTED_APPS = ['admitted apps']

const admittedAppsQuery = queryOptions({
  queryKey: ADMITTED_APPS,
  queryFn: () => readAll((query) => api.GET('/auth/admitted-app', { params: { query } })),
  ...READ_ON_RETURN,
})

/** The apps that the person has admitted; nothing without any. */
export function AdmittedApps() {
  const t = useText()
  const { data: apps = [] } = useQuery(admittedAppsQuery)
  if (apps.length === 0) return null
  return (
    <section aria-labelledby="apps">
      <h2 id="apps">{t('access.apps')}</h2>
      <ul className="rows">
        {apps.map((app) => (
          <AppRow key={app.id} app={app} />
        ))}
      </ul>
    </section>
  )
}

function AppRow({
  app: { id, name, lastUsedAt },
}: {
  app: { id: string; name: string; lastUsedAt: string }
}) {
  const t = useText()
  const queries = useQueryClient()
  const ending = useSubmit(async () => {
    await api.DELETE('/auth/admitted-app/{admissionId}', { params: { path: { admissionId: id } } })
    await queries.invalidateQueries({ queryKey: ADMITTED_APPS })
  })
  return (
    <li>
      <div className="grow">
        <strong>{name}</strong>
        <p className="help">{t('account.used', { age: formatAge(lastUsedAt) })}</p>
        {ending.problem && <FailureNote error={ending.problem} />}
      </div>
      <button type="button" onClick={ending.submit}>
        {t('access.end')} <span className="unseen">{name}</span>
      </button>
    </li>
  )
}

import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { PageProps } from '../../model/page-props.ts'
import { api } from '../../session/user-session.ts'
import { useText } from '../../texts/translate.ts'
import { FailureNote } from '../../ui/failure-note.tsx'
import { ConfirmButton } from '../../ui/form/confirm-button.tsx'
import { useSubmit } from '../../ui/form/form.tsx'
import { Heading } from '../../ui/heading.tsx'
import { Loaded } from '../../ui/loaded.tsx'
import { PageButtons, PLAIN_LABELS, useTurnedPages } from '../../ui/table/page-buttons.tsx'
import { ClientSecretNote } from '../client-secret-note.tsx'
import { APPS_KEY, appsQuery, type ListedApp, type RegisteredApp } from './apps-query.ts'
import { NewApp } from './new-app.tsx'

/** The apps that people can admit to their records. */
export default function AppsPage({ me }: PageProps) {
  const t = useText()
  const pages = useTurnedPages<string>()
  const apps = useQuery(appsQuery(pages.position))
  const [shown, show] = useState<RegisteredApp>()
  return (
    <>
      <Heading title={t('apps.title')} />
      <p>{t('apps.help')}</p>
      {shown && <ClientSecretNote client={shown} />}
      <Loaded query={apps} lines={4}>
        {({ items, page }) => (
          <>
            {items.length === 0 && <p>{t('apps.none')}</p>}
            <ul className="rows">
              {items.map((app) => (
                <AppRow key={app.id} app={app} onRenewed={show} />
              ))}
            </ul>
            <PageButtons pages={pages} next={page.next} labels={PLAIN_LABELS} />
          </>
        )}
      </Loaded>
      <details className="panel">
        <summary>{t('apps.new')}</summary>
        <NewApp mvUid={me.mvUid} onRegistered={show} />
      </details>
    </>
  )
}

function AppRow({ app, onRenewed }: { app: ListedApp; onRenewed: (app: RegisteredApp) => void }) {
  const t = useText()
  const queries = useQueryClient()
  const { id, name, authentication, scopes } = app
  const params = { path: { appId: id } }
  const renewing = useSubmit(async () =>
    onRenewed((await api.POST('/auth/app/{appId}/secret', { params })).data),
  )
  const removing = useSubmit(async () => {
    await api.DELETE('/auth/app/{appId}', { params })
    await queries.invalidateQueries({ queryKey: APPS_KEY })
  })
  const problem = renewing.problem ?? removing.problem
  return (
    <li>
      <div className="grow">
        <strong>{name}</strong>
        <p className="help">
          {id}. {t(`authentication.${authentication}`)}. {scopes.join(', ')}
        </p>
        {problem && <FailureNote error={problem} />}
      </div>
      {authentication === 'secret' && (
        <ConfirmButton
          label={t('apps.renew')}
          about={name}
          question={t('apps.renewHelp', { name })}
          yes={t('apps.renewYes')}
          onConfirm={renewing.submit}
        />
      )}
      <ConfirmButton
        label={t('apps.remove')}
        about={name}
        question={t('apps.removeHelp', { name })}
        yes={t('apps.removeYes')}
        onConfirm={removing.submit}
      />
    </li>
  )
}

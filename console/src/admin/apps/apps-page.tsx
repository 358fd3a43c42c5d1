import { useQueryClient } from '@tanstack/react-query'
import type { PageProps } from '../../model/page-props.ts'
import { api } from '../../session/user-session.ts'
import { useText } from '../../texts/translate.ts'
import { FailureNote } from '../../ui/failure-note.tsx'
import { ConfirmButton } from '../../ui/form/confirm-button.tsx'
import { useSubmit } from '../../ui/form/form.tsx'
import { RegistrationsPage, type RowProps } from '../registrations-page.tsx'
import { APPS_KEY, type ListedApp, readApps } from './apps-query.ts'
import { NewApp } from './new-app.tsx'

/** The apps that people can admit to their records. */
export default function AppsPage({ me }: PageProps) {
  return (
    <RegistrationsPage
      mvUid={me.mvUid}
      texts="apps"
      queryKey={APPS_KEY}
      read={readApps}
      Row={AppRow}
      New={NewApp}
    />
  )
}

function AppRow({ client: app, onRenewed }: RowProps<ListedApp>) {
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

import { useQueryClient } from '@tanstack/react-query'
import type { PageProps } from '../../model/page-props.ts'
import { api } from '../../session/user-session.ts'
import { useText } from '../../texts/translate.ts'
import { FailureNote } from '../../ui/failure-note.tsx'
import { ConfirmButton } from '../../ui/form/confirm-button.tsx'
import { useSubmit } from '../../ui/form/form.tsx'
import { RegistrationsPage, type RowProps } from '../registrations-page.tsx'
import { NewSystem } from './new-system.tsx'
import { type ListedSystem, readSystems, SYSTEMS_KEY } from './systems-query.ts'

/** The systems that store records through the openEHR REST API. */
export default function SystemsPage({ me }: PageProps) {
  return (
    <RegistrationsPage
      mvUid={me.mvUid}
      texts="systems"
      queryKey={SYSTEMS_KEY}
      read={readSystems}
      Row={SystemRow}
      New={NewSystem}
    />
  )
}

function SystemRow({ client: { id, name, roles, active }, onRenewed }: RowProps<ListedSystem>) {
  const t = useText()
  const queries = useQueryClient()
  const params = { path: { systemId: id } }
  const refresh = () => queries.invalidateQueries({ queryKey: SYSTEMS_KEY })
  const renewing = useSubmit(async () => {
    onRenewed((await api.POST('/auth/system/{systemId}/key', { params })).data)
    await refresh()
  })
  const locking = useSubmit(async () => {
    await api.POST('/auth/system/{systemId}/revoke', { params })
    await refresh()
  })
  const problem = renewing.problem ?? locking.problem
  const acts = [t('systems.may'), ...roles.map((role) => t(`systemRole.${role}`))]
  return (
    <li>
      <div className="grow">
        <strong>{name}</strong> {!active && <span className="band warn">{t('systems.locked')}</span>}
        <p className="help">
          {id}. {acts.join('; ')}.
        </p>
        {problem && <FailureNote error={problem} />}
      </div>
      <ConfirmButton
        label={t('systems.renew')}
        about={name}
        question={t(active ? 'systems.renewHelp' : 'systems.letInHelp', { name })}
        yes={t('systems.renewYes')}
        onConfirm={renewing.submit}
      />
      {active && (
        <ConfirmButton
          label={t('systems.lock')}
          about={name}
          question={t('systems.lockHelp', { name })}
          yes={t('systems.lockYes')}
          onConfirm={locking.submit}
        />
      )}
    </li>
  )
}

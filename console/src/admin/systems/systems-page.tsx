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
import { NewSystem } from './new-system.tsx'
import { type ListedSystem, type RegisteredSystem, SYSTEMS_KEY, systemsQuery } from './systems-query.ts'

/** The systems that store records through the openEHR REST API. */
export default function SystemsPage({ me }: PageProps) {
  const t = useText()
  const pages = useTurnedPages<string>()
  const systems = useQuery(systemsQuery(pages.position))
  const [shown, show] = useState<RegisteredSystem>()
  return (
    <>
      <Heading title={t('systems.title')} />
      <p>{t('systems.help')}</p>
      {shown && <ClientSecretNote client={shown} />}
      <Loaded query={systems} lines={4}>
        {({ items, page }) => (
          <>
            {items.length === 0 && <p>{t('systems.none')}</p>}
            <ul className="rows">
              {items.map((system) => (
                <SystemRow key={system.id} system={system} onRenewed={show} />
              ))}
            </ul>
            <PageButtons pages={pages} next={page.next} labels={PLAIN_LABELS} />
          </>
        )}
      </Loaded>
      <details className="panel">
        <summary>{t('systems.new')}</summary>
        <NewSystem mvUid={me.mvUid} onRegistered={show} />
      </details>
    </>
  )
}

interface SystemRowProps {
  system: ListedSystem
  onRenewed: (system: RegisteredSystem) => void
}

function SystemRow({ system: { id, name, roles, active }, onRenewed }: SystemRowProps) {
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

import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from '../../browser/router.tsx'
import type { Role } from '../../model/me.ts'
import type { PageProps } from '../../model/page-props.ts'
import { api } from '../../session/user-session.ts'
import { formatMoment, personName } from '../../texts/format.ts'
import { useText } from '../../texts/translate.ts'
import { FailureNote } from '../../ui/failure-note.tsx'
import { ConfirmButton } from '../../ui/form/confirm-button.tsx'
import { Form, useSubmit } from '../../ui/form/form.tsx'
import { Heading } from '../../ui/heading.tsx'
import { Loaded } from '../../ui/loaded.tsx'
import { ACCOUNTS_KEY, type Account, accountQuery, ROLES } from './accounts-query.ts'
import { RoleFields } from './role-fields.tsx'

/** The account of somebody: its state and roles. */
export default function AccountDetailsPage({ me, params: { mvUid = '' } }: PageProps) {
  const t = useText()
  const account = useQuery(accountQuery(mvUid))
  return (
    <>
      <Heading title={account.data ? personName(account.data.name) : t('account.title')} />
      <p>
        <Link to="/admin/accounts">{t('accounts.title')}</Link>
      </p>
      <Loaded query={account} lines={6}>
        {(data) => (
          <>
            <p>
              {data.email}, {t(`state.${data.state}`)}.{' '}
              {t('accounts.since', { at: formatMoment(data.createdAt) })}
            </p>
            <RolesForm account={data} />
            {mvUid !== me.mvUid && <AccountSteps account={data} />}
          </>
        )}
      </Loaded>
    </>
  )
}

/** Reads, changes and writes the account, which others may have changed. */
function useChangeAccount(mvUid: string) {
  const queries = useQueryClient()
  return async (change: (now: Account) => { roles?: Role[]; disabled?: boolean }) => {
    await api.update('/auth/account/{mvUid}', { params: { path: { mvUid } } }, change)
    await queries.invalidateQueries({ queryKey: ACCOUNTS_KEY })
  }
}

function RolesForm({ account: { mvUid, roles: before } }: { account: Account }) {
  const t = useText()
  const change = useChangeAccount(mvUid)
  // Only what differs from the account, so that ticks stay when somebody else changes another role.
  const [ticks, setTicks] = useState<Partial<Record<Role, boolean>>>({})
  const applyTo = (storedRoles: readonly Role[]) =>
    ROLES.filter((role) => ticks[role] ?? storedRoles.includes(role))
  const roles = applyTo(before)
  const form = useSubmit(async () => {
    await change((now) => ({ roles: applyTo(now.roles) }))
    setTicks({})
  })
  const onChange = (next: readonly Role[]) => {
    const changedRoles = ROLES.filter((role) => next.includes(role) !== before.includes(role))
    setTicks(Object.fromEntries(changedRoles.map((role) => [role, next.includes(role)])))
  }
  return (
    <Form form={form} submit={t('save')} saved={t('form.saved')} isPrinted>
      <RoleFields roles={roles} error={form.field('roles').error} onChange={onChange} />
    </Form>
  )
}

/** Locks and unlocks the account, or sends its owner a link. */
function AccountSteps({ account: { mvUid, name, email, state } }: { account: Account }) {
  const t = useText()
  const change = useChangeAccount(mvUid)
  const who = name ?? email
  const locking = useSubmit(() => change(() => ({ disabled: true })))
  const unlocking = useSubmit(() => change(() => ({ disabled: false })))
  const [isInvited, setInvited] = useState(false)
  const inviting = useSubmit(async () => {
    await api.POST('/auth/account/{mvUid}/invite', { params: { path: { mvUid } }, body: {} })
    setInvited(true)
  })
  const problem = locking.problem ?? unlocking.problem ?? inviting.problem
  return (
    <>
      {problem && <FailureNote error={problem} />}
      {isInvited && (
        <p role="status" className="note">
          {t('accounts.invited', { email })}
        </p>
      )}
      <div className="actions">
        {state === 'DISABLED' ? (
          <button type="button" onClick={unlocking.submit}>
            {t('accounts.unlock')} <span className="unseen">{who}</span>
          </button>
        ) : (
          <ConfirmButton
            label={t('accounts.lock')}
            about={who}
            question={t('accounts.lockHelp', { who })}
            yes={t('accounts.lockYes')}
            onConfirm={locking.submit}
          />
        )}
        {state === 'ACTIVATION_PENDING' && (
          <button type="button" onClick={inviting.submit}>
            {t('accounts.invite')} <span className="unseen">{who}</span>
          </button>
        )}
      </div>
    </>
  )
}

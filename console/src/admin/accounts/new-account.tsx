import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useDraft } from '../../browser/drafts.ts'
import type { Role } from '../../model/me.ts'
import { api } from '../../session/user-session.ts'
import { useText } from '../../texts/translate.ts'
import { TextField } from '../../ui/form/field.tsx'
import { Form, useCreation, useSubmit } from '../../ui/form/form.tsx'
import { ACCOUNTS_KEY } from './accounts-query.ts'
import { RoleFields } from './role-fields.tsx'

interface Draft {
  name: string
  email: string
  roles: Role[]
}

/** Makes an account for somebody, who gets a mail for choosing a password. */
export function NewAccount({ mvUid }: { mvUid: string }) {
  const t = useText()
  const queries = useQueryClient()
  const [invitedEmail, setInvitedEmail] = useState<string>()
  const { draft, change, clear } = useDraft<Draft>(`${mvUid} new account`, () => ({
    name: '',
    email: '',
    roles: [],
  }))
  const create = useCreation()
  const form = useSubmit(async () => {
    const { name, email, roles } = draft
    const body = { name: name.trim(), email: email.trim(), roles, invite: true }
    await create(body, (request) => api.POST('/auth/manage/account', request))
    clear()
    setInvitedEmail(body.email)
    await queries.invalidateQueries({ queryKey: ACCOUNTS_KEY })
  })
  return (
    <Form form={form} submit={t('accounts.make')}>
      {invitedEmail !== undefined && (
        <p role="status" className="note">
          {t('accounts.made', { email: invitedEmail })}
        </p>
      )}
      <TextField
        {...form.field('name')}
        label={t('accounts.name')}
        value={draft.name}
        onChange={(name) => change({ name })}
      />
      <TextField
        {...form.field('email')}
        type="email"
        label={t('login.email')}
        value={draft.email}
        onChange={(email) => change({ email })}
      />
      <RoleFields
        roles={draft.roles}
        error={form.field('roles').error}
        onChange={(roles) => change({ roles })}
      />
    </Form>
  )
}

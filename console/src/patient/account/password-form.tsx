import { useState } from 'react'
import { api } from '../../session/user-session.ts'
import { useText } from '../../texts/translate.ts'
import { PasswordField } from '../../ui/form/field.tsx'
import { Form, useSubmit } from '../../ui/form/form.tsx'

/** Chooses a new password; all other sessions end. A password is never stored as a draft. */
export function PasswordForm() {
  const t = useText()
  const [currentPassword, setCurrent] = useState('')
  const [newPassword, setNew] = useState('')
  const form = useSubmit(async () => {
    await api.POST('/auth/account/password/update', { body: { currentPassword, newPassword } })
    setCurrent('')
    setNew('')
  })
  return (
    <Form form={form} submit={t('password.change')} saved={t('password.changed')}>
      <PasswordField
        {...form.field('currentPassword')}
        label={t('password.current')}
        autoComplete="current-password"
        value={currentPassword}
        onChange={setCurrent}
      />
      <PasswordField
        {...form.field('newPassword')}
        label={t('password.new')}
        help={t('register.passwordHelp')}
        autoComplete="new-password"
        value={newPassword}
        onChange={setNew}
      />
    </Form>
  )
}

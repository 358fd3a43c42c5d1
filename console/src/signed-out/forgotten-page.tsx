import { useState } from 'react'
import { api } from '../session/user-session.ts'
import { useText } from '../texts/translate.ts'
import { Form, useSubmit } from '../ui/form/form.tsx'
import { Heading } from '../ui/heading.tsx'
import { EmailField } from './email-field.tsx'
import { BackToLogin } from './register-page.tsx'

export default function ForgottenPage() {
  const t = useText()
  const [email, setEmail] = useState('')
  const [isSent, setSent] = useState(false)
  const form = useSubmit(async () => {
    await api.POST('/auth/account/password/reset', { body: { email } })
    setSent(true)
  })
  return (
    <>
      <Heading title={t('forgotten.title')} />
      {isSent ? (
        <p role="status">{t('mail.help', { email })}</p>
      ) : (
        <Form form={form} submit={t('forgotten.submit')}>
          <EmailField form={form} value={email} onChange={setEmail} />
        </Form>
      )}
      <BackToLogin />
    </>
  )
}

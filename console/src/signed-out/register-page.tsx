import { useState } from 'react'
import { Link } from '../browser/router.tsx'
import { api } from '../session/user-session.ts'
import { useLanguage, useText } from '../texts/translate.ts'
import { CheckField, PasswordField, TextField } from '../ui/form/field.tsx'
import { Form, useSubmit } from '../ui/form/form.tsx'
import { Heading } from '../ui/heading.tsx'
import { EmailField } from './email-field.tsx'

/** Empty if the operator has published no terms. */
const termsUrl = document.querySelector<HTMLMetaElement>('meta[name=terms]')?.content

/** A new account. The mailed link activates it on a page of the service, which then leads back here. */
export default function RegisterPage() {
  const t = useText()
  const language = useLanguage()
  const [name, setName] = useState('')
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const [termsAccepted, setTermsAccepted] = useState(false)
  const [isSent, setSent] = useState(false)
  const form = useSubmit(async () => {
    const body = { email, password, name, language, ...(termsUrl && { termsAccepted }) }
    await api.POST('/auth/account/register/password', { body })
    setSent(true)
  })
  if (isSent) return <MailNotice email={email} />
  return (
    <>
      <Heading title={t('register.title')} />
      <Form form={form} submit={t('register.submit')}>
        <TextField
          {...form.field('name')}
          label={t('register.name')}
          autoComplete="name"
          value={name}
          onChange={setName}
        />
        <EmailField form={form} value={email} onChange={setEmail} />
        <PasswordField
          {...form.field('password')}
          label={t('login.password')}
          help={t('register.passwordHelp')}
          autoComplete="new-password"
          value={password}
          onChange={setPassword}
        />
        {termsUrl && (
          <CheckField
            {...form.field('termsAccepted')}
            label={t('register.terms')}
            isChecked={termsAccepted}
            onChange={setTermsAccepted}
          >
            <a href={termsUrl}>{t('register.readTerms')}</a>
          </CheckField>
        )}
      </Form>
      <BackToLogin />
    </>
  )
}

function MailNotice({ email }: { email: string }) {
  const t = useText()
  return (
    <>
      <Heading title={t('mail.title')} />
      <p>{t('mail.help', { email })}</p>
      <BackToLogin />
    </>
  )
}

export function BackToLogin() {
  const t = useText()
  return (
    <p>
      <Link to="/">{t('login.back')}</Link>
    </p>
  )
}

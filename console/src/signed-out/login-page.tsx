import { useState } from 'react'
import { Link } from '../browser/router.tsx'
import { logIn, useSession } from '../session/user-session.ts'
import { useText } from '../texts/translate.ts'
import { PasswordField } from '../ui/form/field.tsx'
import { Form, useSubmit } from '../ui/form/form.tsx'
import { Heading } from '../ui/heading.tsx'
import { EmailField } from './email-field.tsx'

export function LoginPage() {
  const t = useText()
  const session = useSession()
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const form = useSubmit(() => logIn(email, password))
  return (
    <>
      <Heading title={t('login.title')} />
      {session.status === 'out' && session.ended && <p role="status">{t('login.ended')}</p>}
      {session.status === 'out' && session.isExpired && <p role="status">{t('login.expired')}</p>}
      {session.status === 'out' && session.isPending && <p role="alert">{t('login.pending')}</p>}
      <Form form={form} submit={t('login.submit')}>
        <EmailField form={form} value={email} onChange={setEmail} />
        <PasswordField
          {...form.field('password')}
          label={t('login.password')}
          autoComplete="current-password"
          value={password}
          onChange={setPassword}
        />
      </Form>
      <p>
        <Link to="/forgotten">{t('login.forgotten')}</Link>
      </p>
      <p>
        <Link to="/register">{t('login.register')}</Link>
      </p>
    </>
  )
}

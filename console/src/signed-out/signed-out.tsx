import { lazy, Suspense } from 'react'
import { serviceUrl, useAddress } from '../browser/router.tsx'
import { chooseLanguage, useLanguage, useText } from '../texts/translate.ts'
import { Skeleton } from '../ui/skeleton.tsx'
import { LoginPage } from './login-page.tsx'

const RegisterPage = lazy(() => import('./register-page.tsx'))
const ForgottenPage = lazy(() => import('./forgotten-page.tsx'))

/** What somebody without a session can do. Any other address asks for a login, and then leads there. */
export default function SignedOut() {
  const t = useText()
  const language = useLanguage()
  const other = language === 'en' ? 'nl' : 'en'
  const { path } = useAddress()
  return (
    <div className="narrow">
      <main>
        <Suspense fallback={<Skeleton />}>
          {path === '/register' ? (
            <RegisterPage />
          ) : path === '/forgotten' ? (
            <ForgottenPage />
          ) : (
            <LoginPage />
          )}
        </Suspense>
      </main>
      <footer>
        <button type="button" lang={other} onClick={() => chooseLanguage(other)}>
          {t('otherLanguage')}
        </button>
        <a href={`${serviceUrl}/?lang=${language}`}>{t('forProgrammers')}</a>
      </footer>
    </div>
  )
}

import { serviceUrl, useRoute } from '../browser/router.tsx'
import { chooseLanguage, serviceName, useLanguage, useText } from '../texts/translate.ts'
import { Later, loadLater } from '../ui/later.tsx'
import { LoginPage } from './login-page.tsx'

const registerPage = loadLater(() => import('./register-page.tsx'))
const forgottenPage = loadLater(() => import('./forgotten-page.tsx'))

/** The pages for people without a session. Any other URL asks for a login, and then leads there. */
export function SignedOut() {
  const t = useText()
  const language = useLanguage()
  const other = language === 'en' ? 'nl' : 'en'
  const { path } = useRoute()
  return (
    <div className="narrow">
      <header>
        <p>
          <strong>{serviceName()}</strong>
        </p>
      </header>
      <main>
        {path === '/register' ? (
          <Later key={path} show={registerPage} props={{}} />
        ) : path === '/forgotten' ? (
          <Later key={path} show={forgottenPage} props={{}} />
        ) : (
          <LoginPage />
        )}
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

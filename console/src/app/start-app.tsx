import { createRoot } from 'react-dom/client'
import { restoreSession } from '../session/user-session.ts'
import { preferredLanguage } from '../texts/language.ts'
import { loadTexts, translate } from '../texts/translate.ts'
import { App } from './app.tsx'

/** The newest of what the pages use, so that older browsers say why they show none. */
const isBrowserNew = 'groupBy' in Map && 'any' in AbortSignal

const OldBrowser = () => (
  <main className="narrow">
    <h1>{translate('oldBrowser.title')}</h1>
    <p>{translate('oldBrowser.help')}</p>
  </main>
)

/** Shows the console in the page. */
export async function startApp(): Promise<void> {
  const root = document.getElementById('root')
  if (!root) return
  restoreSession()
  await loadTexts(preferredLanguage())
  createRoot(root).render(isBrowserNew ? <App /> : <OldBrowser />)
}

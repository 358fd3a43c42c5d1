import { createRoot } from 'react-dom/client'
import { restoreSession } from '../session/user-session.ts'
import { preferredLanguage } from '../texts/language.ts'
import { loadTexts } from '../texts/translate.ts'
import { App } from './app.tsx'

/** Shows the console in the page. */
export async function startApp(): Promise<void> {
  const root = document.getElementById('root')
  if (!root) return
  restoreSession()
  await loadTexts(preferredLanguage())
  createRoot(root).render(<App />)
}

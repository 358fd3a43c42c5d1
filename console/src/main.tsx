import { mayBeLoggedIn } from './session/session-mark.ts'
import { importTexts, preferredLanguage } from './texts/language.ts'
import './styles/base.css'

// All parts of the first page load at once. The code that needs a part waits for it, and reports its failure.
const parts = [importTexts(preferredLanguage()), ...(mayBeLoggedIn() ? [import('./app/signed-in.tsx')] : [])]
for (const part of parts) part.catch(() => {})
const { startApp } = await import('./app/start-app.tsx')
await startApp()

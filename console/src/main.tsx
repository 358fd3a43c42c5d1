import { createRoot } from 'react-dom/client'
import { App } from './app/app.tsx'
import { restoreSession } from './session/session.ts'
import { loadTexts, preferredLanguage } from './texts/translate.ts'
import './styles/base.css'

const root = document.getElementById('root')
if (root) {
  restoreSession()
  await loadTexts(preferredLanguage())
  createRoot(root).render(<App />)
}

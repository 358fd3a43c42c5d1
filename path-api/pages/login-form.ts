import type { InterfaceLanguage } from '../../schemas/code-lists.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { markup, type PageText, type PageView, translate } from './page.ts'

/** @throws errors that do not concern the address or the password */
export function toLoginFailure(error: unknown): undefined {
  if (error instanceof ServiceError && error.status < 500 && error.error !== 'TooManyRequests') return
  throw error
}

/** A login that failed keeps its e-mail address in the form, but in no URL. */
export interface FailedLogin {
  email: string
}

export const renderLoginFailure = ({ language }: PageView, failed: FailedLogin | undefined) =>
  failed ? markup`<p role="alert">${translate(language, 'notLoggedIn')}</p>` : ''

/** A field for a password. With scripts, a button shows what is typed. */
export const renderPasswordField = (
  language: InterfaceLanguage,
  name: string,
  label: PageText,
  autocomplete: 'current-password' | 'new-password',
) => markup`<label>${translate(language, label)}
<input type="password" name="${name}" autocomplete="${autocomplete}" autocapitalize="none" spellcheck="false"
data-show="${translate(language, 'showPassword')}" required></label>`

export function renderLoginFields({ language }: PageView, failed: FailedLogin | undefined) {
  const say = (text: PageText) => translate(language, text)
  return markup`<label>${say('email')}
<input type="email" name="email" autocomplete="username" value="${failed?.email ?? ''}" required></label>
${renderPasswordField(language, 'password', 'password', 'current-password')}
<button>${say('logIn')}</button>`
}

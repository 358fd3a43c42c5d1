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

export function renderLoginFields({ language }: PageView, failed: FailedLogin | undefined) {
  const say = (text: PageText) => translate(language, text)
  return markup`<label>${say('email')}
<input type="email" name="email" autocomplete="username" value="${failed?.email ?? ''}" required></label>
<label>${say('password')}
<input type="password" name="password" autocomplete="current-password" required></label>
<button>${say('logIn')}</button>`
}

import { toLowerCaseLogin } from '../../../records/accounts/user/user.ts'
import { parseErrorCode, Refusal } from '../request/parse-request.ts'

/**
 * Rejects account bodies on which Parse would fail, and normalises names so that each address belongs to one
 * account.
 * @throws Refusal 400 with 111 or 252
 */
export function checkAccountBody(body: unknown): void {
  const account = (body ?? {}) as Record<string, unknown>
  if (account.authData !== undefined)
    throw new Refusal(
      400,
      parseErrorCode.unsupportedService,
      'Anonymous and third-party logins are not available under /1. Use a password, or POST /auth/login/google.',
    )
  for (const name of ['username', 'email']) {
    const value = account[name]
    if (typeof value === 'string') account[name] = toLowerCaseLogin(value)
  }
  for (const name of ['username', 'email', 'password']) {
    const value = account[name]
    if (typeof value === 'string' && value.includes('\0'))
      throw new Refusal(400, parseErrorCode.incorrectType, `${name} must not contain a NUL character`)
  }
}

/**
 * Rejects the removal of required account fields.
 * @throws Refusal 400/111
 */
export function checkAccountChange(body: unknown): void {
  for (const name of ['username', 'email', 'password']) {
    const { [name]: value } = (body ?? {}) as Record<string, unknown>
    if (value !== undefined && typeof value !== 'string')
      throw new Refusal(400, parseErrorCode.incorrectType, `${name} must be a string`)
  }
}

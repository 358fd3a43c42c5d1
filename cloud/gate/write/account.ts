import { code, Refusal } from '../request/parse-request.ts'

/**
 * Refuses what Parse fails on in the body of a request about an account, and brings names into the form in which they
 * are compared: one address is one account, however it is written.
 * @throws Refusal 400 with 111 or 252
 */
export function checkAccount(body: unknown): void {
  const account = (body ?? {}) as Record<string, unknown>
  if (account.authData !== undefined)
    throw new Refusal(
      400,
      code.unsupportedService,
      'Accounts of the class family log in with a password only',
    )
  for (const name of ['username', 'email']) {
    const value = account[name]
    if (typeof value === 'string') account[name] = value.toLowerCase()
  }
  for (const name of ['username', 'email', 'password']) {
    const value = account[name]
    if (typeof value === 'string' && value.includes('\0'))
      throw new Refusal(400, code.incorrectType, `${name} contains an invalid character`)
  }
}

/** What an account has cannot be taken away. @throws Refusal 400/111 */
export function checkChangedAccount(body: unknown): void {
  for (const name of ['username', 'email', 'password']) {
    const { [name]: value } = (body ?? {}) as Record<string, unknown>
    if (value !== undefined && typeof value !== 'string')
      throw new Refusal(400, code.incorrectType, `${name} must be a string`)
  }
}

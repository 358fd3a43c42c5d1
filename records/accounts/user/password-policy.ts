import { MAX_PASSWORD_BYTES, MIN_PASSWORD_LENGTH } from '../../../schemas/accounts/account.ts'
import type { Violation } from '../../../schemas/validation/violations.ts'

/**
 * The violations of a new password. Parse Server has the hashes of former passwords, and refuses recently
 * used ones itself.
 */
export function passwordViolations(password: string, path: string, email?: string): Violation[] {
  const violations: Violation[] = []
  const add = (code: string, message: string) => violations.push({ path, code, message })
  if ([...password].length < MIN_PASSWORD_LENGTH)
    add('password-too-short', `must have at least ${MIN_PASSWORD_LENGTH} characters`)
  if (Buffer.byteLength(password) > MAX_PASSWORD_BYTES)
    add('password-too-long', `must have at most ${MAX_PASSWORD_BYTES} bytes in UTF-8`)
  if (email !== undefined && password.toLowerCase().includes(email.toLowerCase()))
    add('password-contains-address', 'must not contain the e-mail address')
  return violations
}

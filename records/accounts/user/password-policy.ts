import { ServiceError } from '../../../schemas/errors.ts'
import type { Violation } from '../../../schemas/violation.ts'

/** Characters, counted as a reader counts them: an emoji is one. */
const shortest = 10
/** Bytes in UTF-8: bcrypt ignores what comes after them. */
const longest = 72

/**
 * What is wrong with a new password, by name. That it is none of the last ones is checked by Parse Server, which
 * has their hashes.
 */
export function passwordViolations(password: string, path: string, email?: string): Violation[] {
  const violations: Violation[] = []
  const add = (code: string, message: string) => violations.push({ path, code, message })
  if ([...password].length < shortest) add('password-too-short', `must have at least ${shortest} characters`)
  if (Buffer.byteLength(password) > longest)
    add('password-too-long', `must have at most ${longest} bytes in UTF-8`)
  if (email !== undefined && password.toLowerCase().includes(email.toLowerCase()))
    add('password-contains-address', 'must not contain the e-mail address')
  return violations
}

/** @throws RuleViolated with every violation */
export function requireNone(violations: readonly Violation[]): void {
  if (violations.length > 0) throw new ServiceError('RuleViolated', { violations })
}

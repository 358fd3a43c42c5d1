import type { Violation } from '../../schemas/validation/violations.ts'

/** The time for which an author may change a message. */
export const EDIT_PERIOD_MS = 15 * 60_000

/** Control characters except tabs and line breaks, and overrides of the text direction. */
const HARMFUL_CHARACTERS = /[\p{Cc}\u202d\u202e]/u
const VISIBLE_CHARACTER = /[^\s\p{C}\p{Z}\u2800\u3164\u115f\u1160]/u

/** The violations of a plain text. */
export function chatTextViolations(path: string, text: string): Violation[] {
  const violations: Violation[] = []
  if (HARMFUL_CHARACTERS.test(text.replaceAll(/[\n\r\t]/g, '')))
    violations.push({
      path,
      code: 'plain',
      message: 'must not contain control characters or text-direction overrides',
    })
  if (!VISIBLE_CHARACTER.test(text))
    violations.push({ path, code: 'blank', message: 'must contain a visible character' })
  return violations
}

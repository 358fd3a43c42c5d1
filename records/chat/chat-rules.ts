import type { Violation } from '../../schemas/violation.ts'

/** For which an author may change what they wrote. */
export const EDITABLE_MS = 15 * 60_000

/** Controls other than tabs and line breaks, and what turns the direction of all that follows. */
const HARMFUL = /[\p{Cc}\u202d\u202e]/u
const VISIBLE = /[^\s\p{C}\p{Z}\u2800\u3164\u115f\u1160]/u

/** What is wrong with a text that is plain. */
export function textViolations(path: string, text: string): Violation[] {
  const found: Violation[] = []
  if (HARMFUL.test(text.replaceAll(/[\n\r\t]/g, '')))
    found.push({
      path,
      code: 'plain',
      message: 'must not contain control characters or text-direction overrides',
    })
  if (!VISIBLE.test(text)) found.push({ path, code: 'blank', message: 'must contain something visible' })
  return found
}

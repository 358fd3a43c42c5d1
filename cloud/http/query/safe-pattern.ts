import { compileRegex } from '@health-record-service/embedded-mongo/regex'
import { countMatchPaths } from './match-paths.ts'

const MAX_PATTERN_LENGTH = 200

/** The steps of a pattern on one text; PCRE2 takes about a second for so many. */
const MAX_STEPS = 100_000_000
/** The longest text of an object without a schema. */
const MAX_PAYLOAD_LENGTH = 1_000_000

/**
 * Whether both databases match a regular expression in a time that grows with the text, not faster. The embedded
 * engine does so with all that it compiles: it supports neither look-around nor back-references, and few
 * repetitions. MongoDB backtracks, so its paths are limited, too. `\Q…\E` quotes text, as SDKs send it for
 * startsWith and contains.
 * @param maxTextLength that of the texts that it is matched with
 */
export function isSafePattern(
  pattern: unknown,
  options: unknown = '',
  maxTextLength = MAX_PAYLOAD_LENGTH,
): pattern is string {
  if (typeof pattern !== 'string' || pattern.length > MAX_PATTERN_LENGTH) return false
  if (typeof options !== 'string' || !/^(?!.*(.).*\1)[imsx]*$/.test(options)) return false
  try {
    compileRegex(pattern, options)
  } catch {
    return false
  }
  const { isAnchored, count } = countMatchPaths(pattern, options)
  return count * (isAnchored ? 1 : maxTextLength) <= MAX_STEPS
}

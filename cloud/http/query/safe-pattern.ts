import { compileRegex } from '@health-record-service/embedded-mongo/regex'

const MAX_PATTERN_LENGTH = 200

/**
 * True if both databases match a regular expression in time linear in the text. The compiler of the embedded
 * engine decides: it supports neither look-around nor back-references, and few repetitions. `\Q…\E` quotes
 * text, as SDKs send it for startsWith and contains.
 */
export function isSafePattern(pattern: unknown, options: unknown = ''): pattern is string {
  if (typeof pattern !== 'string' || pattern.length > MAX_PATTERN_LENGTH) return false
  if (typeof options !== 'string' || !/^(?!.*(.).*\1)[imsx]*$/.test(options)) return false
  try {
    compileRegex(pattern, options)
    return true
  } catch {
    return false
  }
}

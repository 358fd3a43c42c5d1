import { compileRegex } from '@health-record-service/embedded-mongo/regex'

const longest = 200

/**
 * Whether both databases can match a regular expression in time that grows with the text alone. The embedded engine's
 * own compiler says so: it knows no look-around and no back-reference. `\Q…\E` quotes a text, as the SDKs' startsWith
 * and contains send it.
 */
export function isPattern(pattern: unknown, options: unknown = ''): pattern is string {
  if (typeof pattern !== 'string' || pattern.length > longest) return false
  if (typeof options !== 'string' || !/^(?!.*(.).*\1)[imsx]*$/.test(options)) return false
  try {
    compileRegex(pattern, options)
    return true
  } catch {
    return false
  }
}

import { compileRegex } from '@health-record-service/embedded-mongo/regex'
import { countMatchPaths } from './match-paths.ts'

const MAX_PATTERN_LENGTH = 200

/** With more paths, MongoDB would give up texts of the usual length, and take them for no match. */
const MAX_PATHS_OF_ANCHORED = 100_000
/** These are tried at every place of a text: with a hundred paths, 1 MB of text takes MongoDB about a second. */
const MAX_PATHS = 100

/**
 * True if both databases match a regular expression in a time that grows with the text, not faster. The embedded
 * engine does so with all that it compiles: it supports neither look-around nor back-references, and few
 * repetitions. MongoDB backtracks, so its paths are limited, too. `\Q…\E` quotes text, as SDKs send it for
 * startsWith and contains.
 */
export function isSafePattern(pattern: unknown, options: unknown = ''): pattern is string {
  if (typeof pattern !== 'string' || pattern.length > MAX_PATTERN_LENGTH) return false
  if (typeof options !== 'string' || !/^(?!.*(.).*\1)[imsx]*$/.test(options)) return false
  try {
    compileRegex(pattern, options)
  } catch {
    return false
  }
  const { isAnchored, count } = countMatchPaths(pattern, options)
  return count <= (isAnchored ? MAX_PATHS_OF_ANCHORED : MAX_PATHS)
}

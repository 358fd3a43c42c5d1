import { compileRegex, MAX_MATCH_STEPS } from '@health-record-service/embedded-mongo/regex'

/** Whether a whole text matches a template's pattern. */
export type TextMatcher = (text: string) => boolean

const MAX_PATTERN_LENGTH = 4000

/**
 * Compiles a template's pattern. An invalid or too large expression matches no text, and none matches a text on
 * which it would take too long.
 */
export function createTextMatcher(source: string): TextMatcher {
  let compiled: TextMatcher | undefined
  return (text) => {
    compiled ??= compilePattern(source)
    return compiled(text)
  }
}

function compilePattern(source: string): TextMatcher {
  const body = source.replace(/^\/(.*)\/$/s, '$1').replace(/^\^|\$$/g, '')
  if (body.length > MAX_PATTERN_LENGTH) return () => false
  try {
    const expression = compileRegex(`^(?:${body})\\z`, 's')
    return (text) => expression.steps(text.length) <= MAX_MATCH_STEPS && expression.test(text)
  } catch {
    return () => false
  }
}

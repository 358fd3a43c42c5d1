import { compileRegex } from '@health-record-service/embedded-mongo/regex'

/** Whether a whole text matches a template's pattern. */
export type TextMatcher = (text: string) => boolean

const MAX_PATTERN_LENGTH = 4000

/** Compiles a template's pattern; matching takes linear time. An invalid expression matches no text. */
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
    return (text) => expression.test(text)
  } catch {
    return () => false
  }
}

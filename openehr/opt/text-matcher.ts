import { compileRegex, type RegexBudget } from '@health-record-service/embedded-mongo/regex'

/** Whether a whole text matches a template's pattern. */
export type TextMatcher = (text: string) => boolean

const MAX_PATTERN_LENGTH = 4000
/** The steps of a match, about 10 ms: a text is matched without a pause. */
const MAX_STEPS = 2_000_000

class TooManySteps extends Error {}

const createRegexBudget = (): RegexBudget => {
  let left = MAX_STEPS
  return {
    consume(steps) {
      left -= steps
      if (left < 0) throw new TooManySteps()
    },
  }
}

/**
 * Compiles a template's pattern. An invalid or too large expression matches no text, and none matches a text on
 * which it would take too long.
 */
export function createTextMatcher(source: string): TextMatcher {
  let matcher: TextMatcher | undefined
  return (text) => {
    matcher ??= compilePattern(source)
    return matcher(text)
  }
}

function compilePattern(source: string): TextMatcher {
  const body = source.replace(/^\/(.*)\/$/s, '$1').replace(/^\^|\$$/g, '')
  if (body.length > MAX_PATTERN_LENGTH) return () => false
  try {
    const expression = compileRegex(`^(?:${body})\\z`, 's')
    return (text) => isMatch(() => expression.test(text, createRegexBudget()))
  } catch {
    return () => false
  }
}

function isMatch(test: () => boolean): boolean {
  try {
    return test()
  } catch (error) {
    if (error instanceof TooManySteps) return false
    throw error
  }
}

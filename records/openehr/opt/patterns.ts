import { compileRegex } from '@health-record-service/embedded-mongo/regex'

/** Whether a whole text is as a template's pattern says. */
export type Pattern = (text: string) => boolean

const LONGEST = 4000

/**
 * What a pattern of a template says, run in time that grows with the text alone. What is no such expression is satisfied
 * by no text.
 */
export function patternOf(source: string): Pattern {
  let compiled: Pattern | undefined
  return (text) => {
    compiled ??= compile(source)
    return compiled(text)
  }
}

function compile(source: string): Pattern {
  const body = source.replace(/^\/(.*)\/$/s, '$1').replace(/^\^|\$$/g, '')
  if (body.length > LONGEST) return () => false
  try {
    const expression = compileRegex(`^(?:${body})\\z`, 's')
    return (text) => expression.test(text)
  } catch {
    return () => false
  }
}

import { compileRegex } from '@health-record-service/embedded-mongo/regex'

/** Whether a whole text is as a template's pattern says. */
export type Pattern = (text: string) => boolean

const LONGEST = 4000

/**
 * What a pattern of a template says, run in time that grows with the text alone. What is no such expression is satisfied
 * by no text.
 */
export function patternOf(written: string): Pattern {
  let compiled: Pattern | undefined
  return (text) => {
    compiled ??= compile(written)
    return compiled(text)
  }
}

function compile(written: string): Pattern {
  const body = written.replace(/^\/(.*)\/$/s, '$1').replace(/^\^|\$$/g, '')
  if (body.length > LONGEST) return () => false
  try {
    const expression = compileRegex(`^(?:${body})\\z`, 's')
    return (text) => expression.test(text)
  } catch {
    return () => false
  }
}

/** Tests of values by regular expressions. */
import type { Document } from 'bson'
import { fail } from '../../values/errors.ts'
import { compileRegex, isRegex } from '../expressions/regex.ts'
import type { MatchSteps } from '../expressions/regex-steps.ts'

interface Regex {
  pattern: string
  options: string
}

/** A test of strings, and of equal expressions. */
export const createRegexTest = (
  { pattern, options }: Regex,
  steps: MatchSteps | undefined,
): ((value: unknown) => boolean) => {
  const expression = compileRegex(pattern, options)
  return (value) =>
    typeof value === 'string'
      ? expression.test(value, steps)
      : isRegex(value) && value.pattern === pattern && value.options === options
}

/** The operand of $regex, with $options among its siblings. */
export const readRegex = (operand: unknown, siblings: Document): Regex => {
  const pattern = isRegex(operand) ? operand.pattern : operand
  if (typeof pattern !== 'string') return fail(2, '$regex has to be a string')
  const ownOptions = isRegex(operand) ? operand.options : ''
  const options = siblings.$options ?? ownOptions
  if (siblings.$options === null || typeof options !== 'string') return fail(2, '$options has to be a string')
  if (ownOptions && '$options' in siblings) {
    const names = Object.keys(siblings)
    const first = names.indexOf('$options') < names.indexOf('$regex')
    fail(first ? 51074 : 51075, 'options set in both $regex and $options')
  }
  if (options.includes('\0')) fail(51108, 'invalid flag in regex options: a null byte')
  return { pattern, options }
}

import { compileRegex } from '@health-record-service/embedded-mongo/regex'
import type { StepBudget } from './step-budget.ts'

const REGEX_SPECIAL_CHARACTERS = /[\\^$.*+?()[\]{}|]/g
/** The only character that an expression cannot contain literally. */
const NUL = /\0/g

/**
 * Compiles a LIKE pattern: `*` is any text, `?` one character, a backslash escapes.
 * @returns a function that matches a whole text in linear time
 */
export function createLikeMatcher(pattern: string, budget: StepBudget): (text: string) => boolean {
  const body = pattern.replace(/\\(.)|\*+|\?|[^\\*?]+|\\/gsu, (part, escapedCharacter?: string) => {
    if (part.startsWith('*')) return '.*'
    if (part === '?') return '.'
    return (escapedCharacter ?? part).replace(REGEX_SPECIAL_CHARACTERS, '\\$&').replace(NUL, '\\x00')
  })
  const expression = compileRegex(`^(?:${body})\\z`, 's')
  return (text) => expression.test(text, budget)
}

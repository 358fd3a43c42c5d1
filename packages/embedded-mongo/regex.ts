/** The engine's regular expressions, for callers that check a pattern before they send it. */
export { compileRegex, type RegularExpression, MAX_MATCH_STEPS } from './language/expressions/regex.ts'

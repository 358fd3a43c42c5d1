/** The engine's regular expressions, for callers that check a pattern before they send it. */
export { compileRegex, MAX_MATCH_STEPS, type RegularExpression } from './language/expressions/regex.ts'

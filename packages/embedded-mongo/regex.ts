/** The engine's regular expressions, for callers that check a pattern before they send it. */
export { compileRegex } from './language/expressions/regex.ts'

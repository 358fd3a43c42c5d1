/** The engine's regular expressions, for callers that check a pattern before they send it, or match texts themselves. */
export { compileRegex, LITERAL_SYNTAX, type RegularExpression } from './language/expressions/regex.ts'
export type { RegexBudget } from './language/expressions/regex-steps.ts'

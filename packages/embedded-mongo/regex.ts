/** The engine's judgement of regular expressions, for those who must know it before they ask. */
export { compileRegex } from './language/expressions/regex.ts'

/** The engine's judgement of filters, for those who have the documents at hand. */
export { compileFilter } from './language/filters/matcher.ts'

/** The engine's filters, for callers that already have the documents. */
export { compileFilter } from './language/filters/matcher.ts'

import { isOverdue } from '../../../records/store/reading/deadline.ts'

type Ask = (this: unknown, ...args: never[]) => Promise<unknown>

/** The queries of Parse Server's storage adapter. */
export type AskedAdapter = Record<'find' | 'count' | 'distinct', Ask>

type ErrorClass = { new (code: number, message: string): Error } & Record<'TIMEOUT' | 'INVALID_QUERY', number>

/** MongoDB's codes for regular expressions that it does not take. */
const NO_PATTERN = new Set<unknown>([51_091, 51_108])

/** Tells clients what the database refuses of their queries; Parse Server would call it a fault of its own. */
export function tellRefusals(adapter: AskedAdapter, ParseError: ErrorClass): void {
  const told = (error: unknown): unknown => {
    if (isOverdue(error)) return new ParseError(ParseError.TIMEOUT, 'The query took too long')
    if (NO_PATTERN.has((error as { code?: unknown } | null)?.code))
      return new ParseError(ParseError.INVALID_QUERY, 'The database does not know such a regular expression')
    return error
  }
  for (const name of ['find', 'count', 'distinct'] as const) {
    const ask = adapter[name]
    adapter[name] = function (...args) {
      return ask.apply(this, args).catch((error: unknown) => Promise.reject(told(error)))
    }
  }
}

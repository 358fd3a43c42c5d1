import { isOutage } from '../../../records/store/documents/outage.ts'
import { isOverdue } from '../../../records/store/reading/deadline.ts'

/** How Parse Server's errors say that the database is away. */
export const UNAVAILABLE = 'Temporarily unavailable'

type Ask = (this: unknown, ...args: never[]) => Promise<unknown>

/** The queries of Parse Server's storage adapter. */
export type QueryingAdapter = Record<'find' | 'count' | 'distinct', Ask> & {
  /** Is handed what any of its commands throws. */
  handleError(error: unknown): never
}

type ErrorClass = { new (code: number, message: string): Error } & Record<
  'TIMEOUT' | 'INVALID_QUERY' | 'INTERNAL_SERVER_ERROR',
  number
>

/** MongoDB's codes for regular expressions that it does not take. */
const NO_PATTERN = new Set<unknown>([51_091, 51_108])

/** Passes on what the database refuses in a client's query; Parse Server would report an internal server error. */
export function tellRefusals(adapter: QueryingAdapter, ParseError: ErrorClass): void {
  const toParseError = (error: unknown): unknown => {
    if (isOverdue(error)) return new ParseError(ParseError.TIMEOUT, 'The query took too long')
    if (NO_PATTERN.has((error as { code?: unknown } | null)?.code))
      return new ParseError(ParseError.INVALID_QUERY, 'The database does not know such a regular expression')
    return error
  }
  const handle = adapter.handleError.bind(adapter)
  adapter.handleError = (error) => {
    if (isOutage(error))
      throw Object.assign(new ParseError(ParseError.INTERNAL_SERVER_ERROR, UNAVAILABLE), { cause: error })
    return handle(error)
  }
  for (const name of ['find', 'count', 'distinct'] as const) {
    const ask = adapter[name]
    adapter[name] = function (...args) {
      return ask.apply(this, args).catch((error: unknown) => Promise.reject(toParseError(error)))
    }
  }
}

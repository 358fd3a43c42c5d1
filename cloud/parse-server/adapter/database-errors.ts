import { isOutage } from '../../../records/store/documents/outage.ts'
import { isDeadlineError } from '../../../records/store/reading/deadlines.ts'

/** Message of Parse errors during a database outage. */
export const UNAVAILABLE_MESSAGE = 'Temporarily unavailable'

/** Message of Parse errors for a query that exceeded its deadline. */
export const QUERY_TIMEOUT_MESSAGE = 'The query took too long. Narrow its conditions, or lower limit.'

/**
 * Code of Parse errors for an object whose version `If-Match` does not name. Parse knows no conditional writes and has
 * no code for them; an SDK shows its users only the code.
 */
export const PRECONDITION_FAILED = 412

type AdapterQuery = (this: unknown, ...args: never[]) => Promise<unknown>

/** Queries of Parse Server's storage adapter. */
export type QueryingAdapter = Record<'find' | 'count' | 'distinct', AdapterQuery> & {
  /** Receives every error of its commands. */
  handleError(error: unknown): never
}

type ParseErrorClass = { new (code: number, message: string): Error } & Record<
  'TIMEOUT' | 'INVALID_QUERY' | 'INTERNAL_SERVER_ERROR',
  number
>

/** MongoDB's error codes for invalid regular expressions. */
const INVALID_REGEX_CODES = new Set<unknown>([51_091, 51_108])

/** Which fields contain lists depends on the objects that the query finds. */
const isSortByTwoLists = (error: unknown): boolean => /with keys that are parallel arrays/.test(String(error))

/**
 * Reports queries that the database rejects as client errors; Parse Server would report an internal error.
 */
export function translateDatabaseErrors(adapter: QueryingAdapter, ParseError: ParseErrorClass): void {
  const toParseError = (error: unknown): unknown => {
    if (isDeadlineError(error)) return new ParseError(ParseError.TIMEOUT, QUERY_TIMEOUT_MESSAGE)
    if (INVALID_REGEX_CODES.has((error as { code?: unknown } | null)?.code))
      return new ParseError(
        ParseError.INVALID_QUERY,
        'The database does not support this regular expression.',
      )
    if (isSortByTwoLists(error))
      return new ParseError(ParseError.INVALID_QUERY, 'order must not name two fields that contain lists.')
    return error
  }
  const handle = adapter.handleError.bind(adapter)
  adapter.handleError = (error) => {
    if (isOutage(error))
      throw Object.assign(new ParseError(ParseError.INTERNAL_SERVER_ERROR, UNAVAILABLE_MESSAGE), {
        cause: error,
      })
    return handle(error)
  }
  for (const name of ['find', 'count', 'distinct'] as const) {
    const ask = adapter[name]
    adapter[name] = function (...args) {
      return ask.apply(this, args).catch((error: unknown) => Promise.reject(toParseError(error)))
    }
  }
}

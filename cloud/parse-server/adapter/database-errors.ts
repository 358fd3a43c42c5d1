import Parse from 'parse/node'
import { isOutage } from '../../../records/store/documents/outage.ts'
import { isDeadlineError } from '../../../records/store/reading/deadlines.ts'

/** Message of Parse errors during a database outage. */
export const UNAVAILABLE_MESSAGE = 'Temporarily unavailable'

/** Message of Parse errors for a write whose commit the database received, but did not confirm. */
export const OUTCOME_UNKNOWN_MESSAGE =
  'Temporarily unavailable. The request may have been carried out. Read the data before you send it again.'

/** Message of Parse errors for a query that exceeded its deadline. */
export const QUERY_TIMEOUT_MESSAGE = 'The query took too long. Narrow its conditions, or lower limit.'

/** Code of Parse errors for a version that `If-Match` does not name: Parse has none, and an SDK shows only the code. */
export const PRECONDITION_FAILED = 412

type AdapterQuery = (this: unknown, ...args: never[]) => Promise<unknown>

/** Queries of Parse Server's storage adapter. */
export type QueryingAdapter = Record<'find' | 'count' | 'distinct', AdapterQuery> & {
  /** Receives every error of its commands. */
  handleError(error: unknown): never
}

/** MongoDB's error codes for invalid regular expressions. */
const INVALID_REGEX_CODES = new Set<unknown>([51_091, 51_108])

/** MongoDB's error code for distinct values of more than 16 MB. */
const DISTINCT_TOO_BIG_CODE = 17_217

/** Which fields contain lists depends on the objects that the query finds. */
const isSortByTwoLists = (error: unknown): boolean => /with keys that are parallel arrays/.test(String(error))

/** Reports queries that the database rejects as client errors; Parse Server would report an internal error. */
export function translateDatabaseErrors(adapter: QueryingAdapter): void {
  const handle = adapter.handleError.bind(adapter)
  adapter.handleError = (error) => {
    if (!isOutage(error)) return handle(error)
    const unavailable = new Parse.Error(Parse.Error.INTERNAL_SERVER_ERROR, UNAVAILABLE_MESSAGE)
    throw Object.assign(unavailable, { cause: error })
  }
  for (const name of ['find', 'count', 'distinct'] as const) {
    const ask = adapter[name]
    adapter[name] = function (...args) {
      return ask.apply(this, args).catch((error: unknown) => Promise.reject(toParseError(error)))
    }
  }
}

function toParseError(error: unknown): unknown {
  if (isDeadlineError(error)) return new Parse.Error(Parse.Error.TIMEOUT, QUERY_TIMEOUT_MESSAGE)
  const refuse = (why: string) => new Parse.Error(Parse.Error.INVALID_QUERY, why)
  const code = (error as { code?: unknown } | null)?.code
  if (INVALID_REGEX_CODES.has(code)) return refuse('The database does not support this regular expression.')
  if (code === DISTINCT_TOO_BIG_CODE)
    return refuse('The distinct values take more than 16 MB. Narrow the conditions.')
  return isSortByTwoLists(error) ? refuse('order must not name two fields that contain lists.') : error
}

import { shortenText } from '../../../schemas/validation/violations.ts'
import {
  OUTCOME_UNKNOWN_MESSAGE,
  QUERY_TIMEOUT_MESSAGE,
  UNAVAILABLE_MESSAGE,
} from '../../parse-server/adapter/database-errors.ts'
import { parseErrorCode } from '../request/parse-request.ts'

/** An error in the form of the class family, with its HTTP status. */
interface ErrorBody {
  status: number
  code: number
  error: string
}

/** An error as Parse Server reports it. Some have no code, or no text. */
interface ParseFault {
  status: number
  code: unknown
  text: string | undefined
}

/** One error of Parse Server, and the response to it. */
interface ErrorRow {
  matches(fault: ParseFault): boolean
  toBody(fault: ParseFault): ErrorBody
}

/** An error of the class family lists its violations in one text. */
const MAX_ERROR_LENGTH = 20_000

const UNAUTHORIZED_MESSAGE =
  'unauthorized: send X-Parse-Application-Id, and with its key one of X-Parse-REST-API-Key, X-Parse-JavaScript-Key, X-Parse-Client-Key (Android, Apple, Flutter) and X-Parse-Windows-Key (.NET)'

/** The codes of errors without one. */
const CODE_BY_STATUS: Record<number, number> = {
  401: parseErrorCode.invalidSession,
  403: parseErrorCode.forbidden,
  404: parseErrorCode.notFound,
}

/** The first row that matches decides. */
const ERROR_ROWS: readonly ErrorRow[] = [
  {
    // Parse reports an exceeded rate limit as code 100, "connection failed".
    matches: ({ status, code }) => status === 429 || code === 100 || code === parseErrorCode.tooManyRequests,
    toBody: ({ text = 'Too many requests. Retry after the number of seconds in Retry-After.' }) => ({
      status: 429,
      code: parseErrorCode.tooManyRequests,
      error: text,
    }),
  },
  {
    // Parse's error for a request without a key.
    matches: ({ status, text }) => status === 403 && text === 'unauthorized',
    toBody: () => ({ status: 403, code: parseErrorCode.forbidden, error: UNAUTHORIZED_MESSAGE }),
  },
  {
    matches: ({ code }) => code === parseErrorCode.invalidSession,
    toBody: ({ text = 'Invalid session token' }) => ({
      status: 401,
      code: parseErrorCode.invalidSession,
      error: text,
    }),
  },
  {
    matches: ({ code }) => code === parseErrorCode.preconditionFailed,
    toBody: ({ text = '' }) => ({ status: 412, code: parseErrorCode.preconditionFailed, error: text }),
  },
  {
    matches: ({ code }) => code === parseErrorCode.timeout,
    toBody: () => ({ status: 408, code: parseErrorCode.timeout, error: QUERY_TIMEOUT_MESSAGE }),
  },
  {
    matches: ({ code, text }) => code === parseErrorCode.internal && text === OUTCOME_UNKNOWN_MESSAGE,
    toBody: () => ({ status: 503, code: parseErrorCode.internal, error: OUTCOME_UNKNOWN_MESSAGE }),
  },
  {
    matches: ({ status, code, text }) =>
      status === 503 || (code === parseErrorCode.internal && text === UNAVAILABLE_MESSAGE),
    toBody: () => ({ status: 503, code: parseErrorCode.internal, error: UNAVAILABLE_MESSAGE }),
  },
  {
    // The texts of internal errors show details.
    matches: ({ status }) => status >= 500,
    toBody: ({ status }) => ({ status, code: parseErrorCode.internal, error: 'Internal server error' }),
  },
]

/** The response to an error that matches no row: that of Parse. */
const toDefaultBody = ({ status, code, text = 'The request cannot be read.' }: ParseFault): ErrorBody => ({
  status,
  code: typeof code === 'number' ? code : (CODE_BY_STATUS[status] ?? parseErrorCode.invalidJson),
  error: text,
})

/** Converts an error of Parse Server to the response of the service. */
export function toErrorBody(status: number, body: unknown): ErrorBody {
  const { code, error, message } = (body ?? {}) as { code?: unknown; error?: unknown; message?: unknown }
  const sentText = [error, message].find((part) => typeof part === 'string' && part !== '')
  // Texts of Parse repeat names that the client sent.
  const text = typeof sentText === 'string' ? shortenText(sentText, MAX_ERROR_LENGTH) : undefined
  const fault = { status, code, text }
  const row = ERROR_ROWS.find(({ matches }) => matches(fault))
  return row ? row.toBody(fault) : toDefaultBody(fault)
}

/** Normalises one result of a batch. Foreign errors have no code, and internal ones show details. */
export function normalizeBatchPart(part: unknown): unknown {
  const { error } = (part ?? {}) as { error?: { code?: unknown; error?: unknown } }
  if (typeof error !== 'object' || error === null) return part
  if (error.error === UNAVAILABLE_MESSAGE || error.error === OUTCOME_UNKNOWN_MESSAGE) return part
  if (typeof error.code === 'number' && error.code !== parseErrorCode.internal) return part
  return { error: { code: parseErrorCode.internal, error: 'Internal server error' } }
}

/** Whether no request of a batch was carried out because of a database outage. */
export const isUnavailableBatch = (body: unknown): boolean =>
  Array.isArray(body) && body.length > 0 && body.every(isUnavailable)

/** Whether a request of a batch was not carried out because of a database outage. */
const isUnavailable = (part: unknown): boolean =>
  toErrorBody(500, (part as { error?: unknown } | null)?.error).error === UNAVAILABLE_MESSAGE

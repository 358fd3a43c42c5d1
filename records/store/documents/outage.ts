import {
  MongoClientClosedError,
  MongoError,
  MongoExpiredSessionError,
  MongoNetworkError,
  MongoNotConnectedError,
  MongoOperationTimeoutError,
  MongoServerClosedError,
  MongoStalePrimaryError,
  MongoSystemError,
  MongoTopologyClosedError,
  MongoWriteConcernError,
} from 'mongodb'
import { type ErrorName, ServiceError } from '../../../schemas/errors.ts'

/**
 * `outage`: the database is unavailable. `conflict`: a concurrent transaction wrote the same document.
 * `limit`: a command exceeded its time. `fault`: anything else; the same request would fail again.
 */
export type ErrorKind = 'outage' | 'conflict' | 'limit' | 'fault'

/** Errors of lost connections, of an unknown primary and of a closed client; each includes its subclasses. */
const OUTAGE_CLASSES = [
  MongoNetworkError,
  MongoSystemError,
  MongoStalePrimaryError,
  MongoNotConnectedError,
  MongoServerClosedError,
  MongoTopologyClosedError,
  MongoClientClosedError,
  MongoExpiredSessionError,
  MongoOperationTimeoutError,
  MongoWriteConcernError,
] as const
/** The driver does not export these classes. */
const OUTAGE_NAMES = new Set(['MongoPoolClosedError', 'MongoWaitQueueTimeoutError'])

/** The server demands a retry, or the connection broke. */
const OUTAGE_LABELS = ['RetryableWriteError', 'RetryableError', 'PoolRequestedRetry', 'ResetPool'] as const
const TRANSIENT_TRANSACTION_LABEL = 'TransientTransactionError'

const DISK_FULL_CODE = 14031
/**
 * Codes of a server that cannot reach others, shuts down, steps down or recovers, or has lost its majority; or that has
 * ended a cursor (43, 237), a query whose index was dropped (175) or a long transaction (290). The same request can succeed.
 */
const OUTAGE_CODES = new Set<unknown>([
  6,
  7,
  43,
  64,
  89,
  91,
  133,
  134,
  175,
  189,
  237,
  262,
  290,
  9001,
  10_058,
  10_107,
  11_600,
  11_602,
  13_435,
  13_436,
  DISK_FULL_CODE,
])
/** WriteConflict. MongoDB labels it as transient; other servers with its protocol may not. */
const WRITE_CONFLICT_CODE = 112
/** MaxTimeMSExpired. */
const TIME_LIMIT_CODE = 50

/** Codes of sockets, also of those that the driver does not wrap. */
const SOCKET_ERROR_CODES = new Set<unknown>([
  'EPIPE',
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENETDOWN',
])

const hasLabel = (error: MongoError, label: string): boolean =>
  // Objects that only inherit from an error class lack the set that `hasErrorLabel` reads.
  'errorLabelSet' in error && error.hasErrorLabel(label)

/** The kind of an error by its own class, code and labels. */
function ownKindOf(error: Error): ErrorKind {
  const { code } = error as { code?: unknown }
  if (!(error instanceof MongoError)) return SOCKET_ERROR_CODES.has(code) ? 'outage' : 'fault'
  if (code === WRITE_CONFLICT_CODE) return 'conflict'
  if (code === TIME_LIMIT_CODE) return 'limit'
  if (OUTAGE_CODES.has(code) || OUTAGE_NAMES.has(error.name)) return 'outage'
  if (OUTAGE_CLASSES.some((outage) => error instanceof outage)) return 'outage'
  if (hasLabel(error, TRANSIENT_TRANSACTION_LABEL)) return typeof code === 'number' ? 'conflict' : 'outage'
  return OUTAGE_LABELS.some((label) => hasLabel(error, label)) ? 'outage' : 'fault'
}

const SERVICE_ERROR_KINDS: Partial<Record<ErrorName, ErrorKind>> = {
  Unavailable: 'outage',
  DeadlineExceeded: 'limit',
}

/** Longer chains of causes are cut off. */
const MAX_DEPTH = 8

/**
 * Classifies any thrown value. An error that is a fault by itself has the kind of the first other error that
 * it wraps: a bulk write wraps the error that interrupts it, Parse Server and promises wrap others.
 */
export function errorKindOf(error: unknown, depth = 0): ErrorKind {
  if (!(error instanceof Error) || depth > MAX_DEPTH) return 'fault'
  if (error instanceof ServiceError) return SERVICE_ERROR_KINDS[error.error] ?? 'fault'
  const outageKind = ownKindOf(error)
  if (outageKind !== 'fault') return outageKind
  const { cause, errorResponse, errors } = error as Error & { errorResponse?: unknown; errors?: unknown }
  const wrappedErrors = [cause, errorResponse, ...(Array.isArray(errors) ? errors : [])]
  return wrappedErrors.map((one) => errorKindOf(one, depth + 1)).find((kind) => kind !== 'fault') ?? 'fault'
}

/** Maximum wait of a request for other requests or an unreachable database, before a 503 with Retry-After. */
export const REQUEST_WAIT_TIMEOUT_MS = 5_000

/**
 * Maximum wait of a command for a primary. Before it, the driver takes up to 2.5 s to notice that a server is
 * silent (server/database/client-options.ts). Both together stay below the wait of a request.
 */
export const PRIMARY_SEARCH_TIMEOUT_MS = 1_500

export const unavailableError = (cause?: unknown): ServiceError =>
  new ServiceError('Unavailable', { retryAfter: REQUEST_WAIT_TIMEOUT_MS / 1000, cause })

/** Somebody has to act: unlike another outage, a full disk does not end by itself. */
export const isFullDisk = (error: unknown, depth = 0): boolean =>
  error instanceof Error &&
  depth <= MAX_DEPTH &&
  ((error as { code?: unknown }).code === DISK_FULL_CODE || isFullDisk(error.cause, depth + 1))

/** The request itself is not at fault: the database is unavailable, or conflicts did not end. */
export function isOutage(error: unknown): boolean {
  const kind = errorKindOf(error)
  return kind === 'outage' || kind === 'conflict'
}

/** An outage that may end within seconds; a full disk does not. */
export const isTransientOutage = (error: unknown): boolean =>
  isOutage(error) && !(error instanceof MongoError && error.code === DISK_FULL_CODE)

/** The database replied that a concurrent transaction wrote the same document. */
export const isWriteConflict = (error: unknown): boolean => errorKindOf(error) === 'conflict'

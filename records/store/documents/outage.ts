import { MongoBulkWriteError, MongoError } from 'mongodb'
import { ServiceError } from '../../../schemas/errors.ts'

/** Maximum wait of a request for other requests or an unreachable database, before a 503 with Retry-After. */
export const REQUEST_WAIT_TIMEOUT_MS = 5_000

export const unavailableError = (cause?: unknown): ServiceError =>
  new ServiceError('Unavailable', { retryAfter: REQUEST_WAIT_TIMEOUT_MS / 1000, cause })

const DISK_FULL_CODE = 14031
/**
 * Codes of a server that shuts down or steps down (NotWritablePrimary and the like), that has lost its
 * majority (64) or whose disk is full.
 */
const OUTAGE_CODES = new Set<unknown>([64, 91, 189, 10107, 11600, 11602, 13435, 13436, DISK_FULL_CODE])
/** WriteConflict. MongoDB labels it as transient; other servers with its protocol may not. */
const WRITE_CONFLICT_CODE = 112
const TRANSIENT_TRANSACTION_LABEL = 'TransientTransactionError'
const CONNECTION_ERROR_NAME =
  /^Mongo(Network|ServerSelection|NotConnected|Topology|PoolCleared|WaitQueue|OperationTimeout|ServerClosed|ClientClosed)/
const SOCKET_ERROR_CODES = new Set<unknown>([
  'EPIPE',
  'ECONNREFUSED',
  'ECONNRESET',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EHOSTUNREACH',
])

/** The database is unavailable; the request itself is not at fault. */
export function isOutage(thrown: unknown): boolean {
  if (thrown instanceof ServiceError) return thrown.error === 'Unavailable'
  if (!(thrown instanceof Error)) return false
  const { code } = thrown as { code?: unknown }
  if (!(thrown instanceof MongoError)) return SOCKET_ERROR_CODES.has(code)
  if (isWriteConflict(thrown) || thrown.hasErrorLabel('RetryableWriteError')) return true
  if (
    thrown.hasErrorLabel(TRANSIENT_TRANSACTION_LABEL) ||
    CONNECTION_ERROR_NAME.test(thrown.name) ||
    OUTAGE_CODES.has(code)
  )
    return true
  // The driver wraps the error that interrupts a bulk write. The wrapper has its code and labels, but not its
  // name.
  return thrown instanceof MongoBulkWriteError && isOutage(thrown.errorResponse)
}

/** An outage that may end within seconds; a full disk does not. */
export const isTransientOutage = (thrown: unknown): boolean => isOutage(thrown) && !isDiskFull(thrown)

const isDiskFull = (thrown: unknown): boolean =>
  thrown instanceof MongoError && thrown.code === DISK_FULL_CODE

/** The database replied that a concurrent transaction wrote the same document. */
export const isWriteConflict = (thrown: unknown): boolean =>
  thrown instanceof MongoError &&
  (thrown.code === WRITE_CONFLICT_CODE ||
    (typeof thrown.code === 'number' && thrown.hasErrorLabel(TRANSIENT_TRANSACTION_LABEL)))

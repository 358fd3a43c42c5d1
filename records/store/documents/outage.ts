import { MongoBulkWriteError, MongoError } from 'mongodb'
import { ServiceError } from '../../../schemas/errors.ts'

/** How long a request waits for others, or for a database that is away, before it is refused with Retry-After. */
export const PATIENCE_MS = 5_000

export const unavailable = (cause?: unknown): ServiceError =>
  new ServiceError('Unavailable', { retryAfter: PATIENCE_MS / 1000, cause })

const OUT_OF_DISK_SPACE = 14031
/**
 * Codes of a server that shuts down or hands over (NotWritablePrimary and its like), whose majority is away (64) or
 * whose disk is full.
 */
const awayOrFull = new Set<unknown>([64, 91, 189, 10107, 11600, 11602, 13435, 13436, OUT_OF_DISK_SPACE])
/** Others were writing the same. MongoDB labels it; not everything does that speaks its protocol. */
const WRITE_CONFLICT = 112
const TRANSIENT = 'TransientTransactionError'
const lostConnection =
  /^Mongo(Network|ServerSelection|NotConnected|Topology|PoolCleared|WaitQueue|OperationTimeout|ServerClosed|ClientClosed)/
const lostSocket = new Set<unknown>([
  'EPIPE',
  'ECONNREFUSED',
  'ECONNRESET',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EHOSTUNREACH',
])

/** The database is away, not the request wrong. */
export function isOutage(thrown: unknown): boolean {
  if (thrown instanceof ServiceError) return thrown.error === 'Unavailable'
  if (!(thrown instanceof Error)) return false
  const { code } = thrown as { code?: unknown }
  if (!(thrown instanceof MongoError)) return lostSocket.has(code)
  if (isConflict(thrown) || thrown.hasErrorLabel('RetryableWriteError')) return true
  if (thrown.hasErrorLabel(TRANSIENT) || lostConnection.test(thrown.name) || awayOrFull.has(code)) return true
  // The driver wraps what cuts off a bulk write: its code and labels are the wrapper's too, its name is not.
  return thrown instanceof MongoBulkWriteError && isOutage(thrown.errorResponse)
}

/** An outage that may be over within seconds; a full disk is none. */
export const isBrief = (thrown: unknown): boolean => isOutage(thrown) && !isFull(thrown)

const isFull = (thrown: unknown): boolean => thrown instanceof MongoError && thrown.code === OUT_OF_DISK_SPACE

/** The database answered: others were writing the same. */
export const isConflict = (thrown: unknown): boolean =>
  thrown instanceof MongoError &&
  (thrown.code === WRITE_CONFLICT || (typeof thrown.code === 'number' && thrown.hasErrorLabel(TRANSIENT)))

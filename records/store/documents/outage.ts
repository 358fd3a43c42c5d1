import { MongoError } from 'mongodb'
import { ServiceError } from '../../../schemas/errors.ts'
import { DISK_FULL_CODE, errorKindOf } from './error-kind.ts'

/** Maximum wait of a request for other requests or an unreachable database, before a 503 with Retry-After. */
export const REQUEST_WAIT_TIMEOUT_MS = 5_000

/**
 * Maximum wait of a command for a primary. Before it, the driver takes up to 2.5 s to notice that a server is
 * silent (server/database/client-options.ts). Both together stay below the wait of a request.
 */
export const PRIMARY_SEARCH_TIMEOUT_MS = 1_500

export const unavailableError = (cause?: unknown): ServiceError =>
  new ServiceError('Unavailable', { retryAfter: REQUEST_WAIT_TIMEOUT_MS / 1000, cause })

/** The request itself is not at fault: the database is unavailable, or conflicts did not end. */
export function isOutage(thrown: unknown): boolean {
  const kind = errorKindOf(thrown)
  return kind === 'outage' || kind === 'conflict'
}

/** An outage that may end within seconds; a full disk does not. */
export const isTransientOutage = (thrown: unknown): boolean => isOutage(thrown) && !isDiskFull(thrown)

const isDiskFull = (thrown: unknown): boolean =>
  thrown instanceof MongoError && thrown.code === DISK_FULL_CODE

/** The database replied that a concurrent transaction wrote the same document. */
export const isWriteConflict = (thrown: unknown): boolean => errorKindOf(thrown) === 'conflict'

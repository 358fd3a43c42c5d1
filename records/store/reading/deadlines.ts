import { ServiceError } from '../../../schemas/errors.ts'
import { errorKindOf } from '../documents/outage.ts'
import type { ReadCheck } from './read-checks.ts'

/** Default timeout of queries. */
export const QUERY_TIMEOUT_MS = 5_000

/** Timeout of reads within transactions, and of the service's own work. */
export const COMMAND_TIMEOUT_MS = 30_000

/** Extra wait for a database that does not end its commands in time. */
const COMMAND_GRACE_PERIOD_MS = 1_000

/** Calls `tell` when work exceeds its deadline. @returns a function that cancels the timer */
export function startDeadlineTimer(ms: number, tell: () => void): () => void {
  const timer = setTimeout(tell, ms + COMMAND_GRACE_PERIOD_MS)
  return () => clearTimeout(timer)
}

/** Runs work and stops waiting at the deadline; the work itself continues. @throws DeadlineExceeded */
export function runWithDeadline<T>(ms: number, work: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const callOff = startDeadlineTimer(ms, () => reject(new ServiceError('DeadlineExceeded')))
    work().then(resolve, reject).finally(callOff)
  })
}

/** Starts a countdown. @returns a function that returns the milliseconds left, or throws DeadlineExceeded */
export function startCountdown(ms: number): () => number {
  const end = performance.now() + ms
  return () => {
    const left = Math.ceil(end - performance.now())
    if (left <= 0) throw new ServiceError('DeadlineExceeded')
    return left
  }
}

/** MongoDB's MaxTimeMSExpired, which the engine's own matcher also throws, and Parse's code of a timeout. */
const TIMEOUT_CODES = new Set<unknown>([50, 124])

/** The error means an exceeded deadline. */
export const isDeadlineError = (error: unknown): boolean =>
  errorKindOf(error) === 'limit' || TIMEOUT_CODES.has((error as { code?: unknown } | null)?.code)

/** Gives a read a timeout; a longer one within a transaction, because a write depends on the read. */
export const enforceReadDeadline: ReadCheck = ({ options }) => ({
  options: {
    ...options,
    maxTimeMS: options.maxTimeMS ?? (options.session ? COMMAND_TIMEOUT_MS : QUERY_TIMEOUT_MS),
  },
})

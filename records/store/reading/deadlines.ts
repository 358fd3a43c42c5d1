import type { Collection, Db } from 'mongodb'
import { ServiceError } from '../../../schemas/errors.ts'

/** Default timeout of queries. */
export const QUERY_TIMEOUT_MS = 5_000

/** Timeout of reads within transactions, and of the service's own work. */
export const COMMAND_TIMEOUT_MS = 30_000

/** Extra wait for a database that does not end its commands in time. */
const GRACE_PERIOD_MS = 500

/** Calls `tell` when work exceeds its deadline. @returns a function that cancels the timer */
export function startDeadlineTimer(ms: number, tell: () => void): () => void {
  const timer = setTimeout(tell, ms + GRACE_PERIOD_MS)
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

/** MongoDB's MaxTimeMSExpired, and the Parse code to which this service translates it. */
const DEADLINE_CODES = new Set<unknown>([50, 124])

/** The error means an exceeded deadline. */
export const isDeadlineError = (error: unknown): boolean =>
  DEADLINE_CODES.has((error as { code?: unknown } | null)?.code) ||
  (error instanceof ServiceError && error.error === 'DeadlineExceeded')

interface ReadOptions {
  maxTimeMS?: number
  session?: object
}

/** Reads within a transaction get the longer limit, because a write depends on them. */
const withTimeLimit = <O extends ReadOptions>(options?: O): O & ReadOptions => ({
  ...(options as O),
  maxTimeMS: options?.maxTimeMS ?? (options?.session ? COMMAND_TIMEOUT_MS : QUERY_TIMEOUT_MS),
})

/** Gives every read of a database a timeout, unless it has one. */
export const enforceReadDeadlines = (db: Db): void => wrapCollections(db, enforceDeadlinesIn)

/** Wraps every collection that a database returns; wraps each only once. */
export function wrapCollections(db: Db, make: (collection: Collection) => Collection): void {
  const collection = db.collection.bind(db)
  const plain = new Map<string, Collection>()
  db.collection = ((name: string, options?: object) => {
    const known = options ? undefined : plain.get(name)
    const found = known ?? make(collection(name, options))
    if (!options) plain.set(name, found)
    return found
  }) as typeof db.collection
}

/** The driver builds all other reads (findOne, countDocuments, …) on these. */
function enforceDeadlinesIn(collection: Collection): Collection {
  const [find, aggregate, distinct, estimate] = [
    collection.find.bind(collection),
    collection.aggregate.bind(collection),
    collection.distinct.bind(collection) as (...args: unknown[]) => Promise<unknown[]>,
    collection.estimatedDocumentCount.bind(collection),
  ]
  return Object.assign(collection, {
    find: (filter = {}, options?: ReadOptions) => find(filter, withTimeLimit(options) as object),
    aggregate: (pipeline: object[] = [], options?: ReadOptions) =>
      aggregate(pipeline, withTimeLimit(options) as object),
    distinct: (key: string, filter = {}, options?: ReadOptions) =>
      distinct(key, filter, withTimeLimit(options)),
    estimatedDocumentCount: (options?: ReadOptions) => estimate(withTimeLimit(options) as object),
  })
}

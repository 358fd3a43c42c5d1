import { AsyncLocalStorage } from 'node:async_hooks'
import type { Collection, Db } from 'mongodb'
import { ServiceError } from '../../../schemas/errors.ts'

/** How long a query may take that does not say otherwise. */
export const QUERY_MS = 5_000

/** How long a command may take that belongs to no query: what a write looks up, and the service's own work. */
const COMMAND_MS = 30_000

/** A database that does not end a command itself is not waited for longer than this. */
const GRACE_MS = 500

const ends = new AsyncLocalStorage<number>()

/** Does work all of whose reads end in time, whoever makes them: Parse Server has no other way to be told. */
export const withDeadline = <T>(ms: number, work: () => T): T => ends.run(performance.now() + ms, work)

/** Does work that takes as long as it takes, such as going through all that there is. */
export const withoutDeadline = <T>(work: () => T): T => ends.run(Number.POSITIVE_INFINITY, work)

/** Tells when a deadline has passed and its work has still not ended. @returns what calls that off */
export function whenOverdue(ms: number, tell: () => void): () => void {
  const timer = setTimeout(tell, ms + GRACE_MS)
  return () => clearTimeout(timer)
}

/** Does work all of whose reads end in time, and waits no longer for it. @throws DeadlineExceeded */
export function inTime<T>(ms: number, work: () => T | Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const callOff = whenOverdue(ms, () => reject(new ServiceError('DeadlineExceeded')))
    withDeadline(ms, async () => work())
      .then(resolve, reject)
      .finally(callOff)
  })
}

/** MongoDB's MaxTimeMSExpired. */
const EXPIRED = 50

/** Whether work ended because of its deadline. */
export const isOverdue = (error: unknown): boolean =>
  (error as { code?: unknown } | null)?.code === EXPIRED ||
  (error instanceof ServiceError && error.error === 'DeadlineExceeded')

/** For the database: 0 is without a limit. @throws DeadlineExceeded */
function timeLeft(): number {
  const end = ends.getStore()
  if (end === undefined) return COMMAND_MS
  if (end === Number.POSITIVE_INFINITY) return 0
  const left = Math.ceil(end - performance.now())
  if (left <= 0) throw new ServiceError('DeadlineExceeded')
  return left
}

interface Timed {
  maxTimeMS?: number
}

/** Has every read of a database end with the deadline of the work that it belongs to. */
export function keepDeadlines(db: Db): void {
  const collection = db.collection.bind(db)
  db.collection = ((name: string, options?: object) =>
    timed(collection(name, options))) as typeof db.collection
}

/** The driver builds its other reads on these. */
function timed(collection: Collection): Collection {
  const [find, aggregate, distinct, estimate] = [
    collection.find.bind(collection),
    collection.aggregate.bind(collection),
    collection.distinct.bind(collection) as (...args: unknown[]) => Promise<unknown[]>,
    collection.estimatedDocumentCount.bind(collection),
  ]
  const inTheEnd = <O extends Timed>(options?: O) => ({
    ...options,
    maxTimeMS: options?.maxTimeMS ?? timeLeft(),
  })
  return Object.assign(collection, {
    find: (filter = {}, options?: Timed) => find(filter, inTheEnd(options)),
    aggregate: (pipeline: object[] = [], options?: Timed) => aggregate(pipeline, inTheEnd(options)),
    distinct: async (key: string, filter = {}, options?: Timed) => distinct(key, filter, inTheEnd(options)),
    estimatedDocumentCount: async (options?: Timed) => estimate(inTheEnd(options)),
  })
}

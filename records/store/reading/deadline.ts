import type { Collection, Db } from 'mongodb'
import { ServiceError } from '../../../schemas/errors.ts'

/** How long a query may take that does not say otherwise. */
export const QUERY_MS = 5_000

/** How long a read may take that a write depends on, and the service's own work. */
export const COMMAND_MS = 30_000

/** A database that does not end a command itself is not waited for longer than this. */
const GRACE_MS = 500

/** Tells when a deadline has passed and its work has still not ended. @returns what calls that off */
export function whenOverdue(ms: number, tell: () => void): () => void {
  const timer = setTimeout(tell, ms + GRACE_MS)
  return () => clearTimeout(timer)
}

/** Runs work, and waits for it until the deadline. @throws DeadlineExceeded */
export function inTime<T>(ms: number, work: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const callOff = whenOverdue(ms, () => reject(new ServiceError('DeadlineExceeded')))
    work().then(resolve, reject).finally(callOff)
  })
}

/** What is left of that many milliseconds, from now on, for the database. @throws DeadlineExceeded */
export function countdown(ms: number): () => number {
  const end = performance.now() + ms
  return () => {
    const left = Math.ceil(end - performance.now())
    if (left <= 0) throw new ServiceError('DeadlineExceeded')
    return left
  }
}

/** MongoDB's MaxTimeMSExpired, and what is made of it for Parse Server. */
const EXPIRED = new Set<unknown>([50, 124])

/** Whether work ended because of its deadline. */
export const isOverdue = (error: unknown): boolean =>
  EXPIRED.has((error as { code?: unknown } | null)?.code) ||
  (error instanceof ServiceError && error.error === 'DeadlineExceeded')

interface Read {
  maxTimeMS?: number
  session?: object
}

/** What a read depends on that a write waits for is part of its transaction. */
const timed = <O extends Read>(options?: O): O & Read => ({
  ...(options as O),
  maxTimeMS: options?.maxTimeMS ?? (options?.session ? COMMAND_MS : QUERY_MS),
})

/** Has every read of a database end, also those that do not say when. */
export const keepDeadlines = (db: Db): void => everyCollection(db, ending)

/** Has all who ask a database for a collection get what is made of it. */
export function everyCollection(db: Db, make: (collection: Collection) => Collection): void {
  const collection = db.collection.bind(db)
  const plain = new Map<string, Collection>()
  db.collection = ((name: string, options?: object) => {
    const known = options ? undefined : plain.get(name)
    const found = known ?? make(collection(name, options))
    if (!options) plain.set(name, found)
    return found
  }) as typeof db.collection
}

/** The driver builds its other reads on these. */
function ending(collection: Collection): Collection {
  const [find, aggregate, distinct, estimate] = [
    collection.find.bind(collection),
    collection.aggregate.bind(collection),
    collection.distinct.bind(collection) as (...args: unknown[]) => Promise<unknown[]>,
    collection.estimatedDocumentCount.bind(collection),
  ]
  return Object.assign(collection, {
    find: (filter = {}, options?: Read) => find(filter, timed(options) as object),
    aggregate: (pipeline: object[] = [], options?: Read) => aggregate(pipeline, timed(options) as object),
    distinct: (key: string, filter = {}, options?: Read) => distinct(key, filter, timed(options)),
    estimatedDocumentCount: (options?: Read) => estimate(timed(options) as object),
  })
}

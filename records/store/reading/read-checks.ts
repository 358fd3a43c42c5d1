import type { ClientSession, Collection, Db } from 'mongodb'
import type { ParseDocument } from '../documents/parse-format.ts'

interface ReadOptions {
  maxTimeMS?: number
  session?: ClientSession
}

/** A read, before its command exists. */
interface Read {
  collection: string
  /** The conditions on the documents; of a pipeline, its first `$match`. */
  filter: Record<string, unknown>
  options: ReadOptions
}

/** A read whose command is about to be sent. Sort and projection of a cursor may be set until then. */
interface CompleteRead {
  /** Filter, sort, projection and pipeline. */
  query: unknown
  /** Converts each document that a cursor returns. */
  map(convert: (document: ParseDocument) => unknown): void
}

type BeforeSending = (read: CompleteRead) => Promise<void> | void

/** Limits, narrows, delays or refuses a read: what it changes, and what must run before the command is sent. */
export type ReadCheck = (read: Read) => Partial<Omit<Read, 'collection'>> & { beforeSending?: BeforeSending }

/** Applies checks, one after the other, to every read of a database. */
export function checkReads(db: Db, checks: readonly ReadCheck[]): void {
  const collection = db.collection.bind(db)
  const cache = new Map<string, Collection>()
  db.collection = ((name: string, options?: object) => {
    const checkedCollection =
      (options ? undefined : cache.get(name)) ?? checkReadsOf(collection(name, options), checks)
    if (!options) cache.set(name, checkedCollection)
    return checkedCollection
  }) as typeof db.collection
}

/** The driver builds all other reads (findOne, countDocuments, …) on these. */
function checkReadsOf(collection: Collection, checks: readonly ReadCheck[]): Collection {
  const find = collection.find.bind(collection)
  const aggregate = collection.aggregate.bind(collection)
  const distinct = collection.distinct.bind(collection) as (...args: unknown[]) => Promise<unknown[]>
  const estimate = collection.estimatedDocumentCount.bind(collection)
  const check = (filter: Read['filter'], options: ReadOptions) => {
    let read: Read = { collection: collection.collectionName, filter, options }
    const steps: BeforeSending[] = []
    for (const apply of checks) {
      const { beforeSending, ...changes } = apply(read)
      read = { ...read, ...changes }
      if (beforeSending) steps.push(beforeSending)
    }
    return { ...read, options: read.options as object, steps }
  }
  return Object.assign(collection, {
    find(query: Read['filter'] = {}, readOptions: ReadOptions = {}) {
      const { filter, options, steps } = check(query, readOptions)
      return runBeforeSending(find(filter, options), steps)
    },
    aggregate(pipeline: object[] = [], readOptions: ReadOptions = {}) {
      const [first, ...rest] = pipeline as { $match?: Read['filter'] }[]
      const $match = first?.$match ?? {}
      const { filter, options, steps } = check($match, readOptions)
      const narrowedPipeline = [{ $match: filter }, ...(first?.$match ? rest : pipeline)]
      return runBeforeSending(aggregate(filter === $match ? pipeline : narrowedPipeline, options), steps)
    },
    async distinct(key: string, query: Read['filter'] = {}, readOptions: ReadOptions = {}) {
      const { filter, options, steps } = check(query, readOptions)
      for (const step of steps) await step({ query: [{ [key]: 1 }, filter], map: keepValues })
      return distinct(key, filter, options)
    },
    /** Reads no document, so it only gets the options. */
    estimatedDocumentCount: (readOptions: ReadOptions = {}) => estimate(check({}, readOptions).options),
  })
}

/** Distinct returns values, no documents to convert. */
const keepValues = (): void => {}

/** Internals of the driver's cursors: the query, and the method that sends it. */
interface CursorInternals {
  cursorFilter?: object
  findOptions?: { sort?: object; projection?: object }
  pipeline?: object[]
  map(convert: (document: ParseDocument) => unknown): unknown
  _initialize(session: ClientSession): Promise<unknown>
}

function runBeforeSending<C extends object>(cursor: C, steps: readonly BeforeSending[]): C {
  if (steps.length === 0) return cursor
  const internals = cursor as unknown as CursorInternals
  const initialize = internals._initialize.bind(cursor)
  internals._initialize = async (session) => {
    const { cursorFilter, findOptions = {}, pipeline } = internals
    const query = [cursorFilter, findOptions.sort, findOptions.projection, pipeline]
    for (const step of steps) await step({ query, map: (convert) => internals.map(convert) })
    return initialize(session)
  }
  return cursor
}

import { type ClientSession, type Collection, type Db, MongoServerError } from 'mongodb'
import { unavailableError } from '../documents/outage.ts'
import { QUERY_TIMEOUT_MS, wrapCollections } from '../reading/deadlines.ts'
import type { JobRunner, QueryFilter } from './background-jobs.ts'

interface ReadOptions {
  session?: ClientSession
}

/** The driver's internal method that sends a cursor's first command. */
interface CursorInternals {
  _initialize(session: ClientSession): Promise<unknown>
}

/**
 * Hides documents from all reads of a database while a job changes them, and delays reads that would see
 * half-done changes. Both API families and their lookups read through this database.
 */
export function hideFromReads(db: Db, underWay: JobRunner): void {
  wrapCollections(db, (collection) => hideInCollection(collection, underWay))
}

/** The driver builds all other reads (findOne, countDocuments, …) on these. */
function hideInCollection(collection: Collection, underWay: JobRunner): Collection {
  const name = collection.collectionName
  const [find, aggregate, distinct] = [
    collection.find.bind(collection),
    collection.aggregate.bind(collection),
    collection.distinct.bind(collection) as (...args: unknown[]) => Promise<unknown[]>,
  ]
  /** The narrowed filter, and a wait that must precede the read. */
  const narrowed = (
    filter: QueryFilter,
    session?: ClientSession,
  ): [QueryFilter, (() => Promise<void>) | undefined] => {
    const hidden = underWay.hiddenFilters(name, session)
    const awaited = underWay.blockingJobs(name, filter, session)
    const { $nor = [] } = filter as { $nor?: object[] }
    return [
      hidden.length > 0 ? { ...filter, $nor: [...$nor, ...hidden] } : filter,
      awaited.length > 0 ? () => waitForJobs(underWay, awaited, session) : undefined,
    ]
  }
  return Object.assign(collection, {
    find: (query: QueryFilter = {}, options?: ReadOptions) => {
      const [filter, before] = narrowed(query, options?.session)
      return delayCursor(before, find(filter, options as object))
    },
    aggregate: (pipeline: object[] = [], options?: ReadOptions) => {
      const [first, ...rest] = pipeline as { $match?: QueryFilter }[]
      const filter = first?.$match ?? {}
      const [$match, before] = narrowed(filter, options?.session)
      const stages = first?.$match ? rest : pipeline
      return delayCursor(
        before,
        aggregate($match === filter ? pipeline : [{ $match }, ...stages], options as object),
      )
    },
    distinct: async (key: string, query: QueryFilter = {}, options?: ReadOptions) => {
      const [filter, before] = narrowed(query, options?.session)
      await before?.()
      return distinct(key, filter, options)
    },
  })
}

function delayCursor<C>(before: (() => Promise<void>) | undefined, cursor: C): C {
  if (!before) return cursor
  const beginning = cursor as CursorInternals
  const begin = beginning._initialize.bind(cursor)
  beginning._initialize = async (session) => {
    await before()
    return begin(session)
  }
  return cursor
}

/** Ends before the query timeout would. */
const READ_WAIT_TIMEOUT_MS = QUERY_TIMEOUT_MS - 1000

/** A transaction would still read its old snapshot: it is retried instead. */
async function waitForJobs(
  underWay: JobRunner,
  ids: string[],
  session: ClientSession | undefined,
): Promise<void> {
  if (session?.inTransaction())
    throw new MongoServerError({
      ...{ message: 'Work is under way', code: 112, errorLabels: ['TransientTransactionError'] },
    })
  for (const id of ids)
    if (!(await underWay.waitUntilDone(id, READ_WAIT_TIMEOUT_MS))) throw unavailableError()
}

import { type ClientSession, type Collection, type Db, MongoServerError } from 'mongodb'
import { unavailable } from '../documents/outage.ts'
import { everyCollection, QUERY_MS } from '../reading/deadline.ts'
import type { QueryFilter, UnderWay } from './under-way.ts'

interface Read {
  session?: ClientSession
}

/** The part of the driver's cursors that sends the first command. */
interface Beginning {
  _initialize(session: ClientSession): Promise<unknown>
}

/**
 * Has no read of a database find what is hidden while work on it is under way, and has those wait that would see what
 * is half done. Both families, and whoever looks something up for them, read through this.
 */
export function veil(db: Db, underWay: UnderWay): void {
  everyCollection(db, (collection) => veiled(collection, underWay))
}

/** The driver builds its other reads on these. */
function veiled(collection: Collection, underWay: UnderWay): Collection {
  const name = collection.collectionName
  const [find, aggregate, distinct] = [
    collection.find.bind(collection),
    collection.aggregate.bind(collection),
    collection.distinct.bind(collection) as (...args: unknown[]) => Promise<unknown[]>,
  ]
  /** What is left of a filter, and what to do before it is asked. */
  const narrowed = (
    filter: QueryFilter,
    session?: ClientSession,
  ): [QueryFilter, (() => Promise<void>) | undefined] => {
    const hidden = underWay.hiddenIn(name, session)
    const awaited = underWay.awaitedBy(name, filter, session)
    const { $nor = [] } = filter as { $nor?: object[] }
    return [
      hidden.length > 0 ? { ...filter, $nor: [...$nor, ...hidden] } : filter,
      awaited.length > 0 ? () => wait(underWay, awaited, session) : undefined,
    ]
  }
  return Object.assign(collection, {
    find: (query: QueryFilter = {}, options?: Read) => {
      const [filter, before] = narrowed(query, options?.session)
      return after(before, find(filter, options as object))
    },
    aggregate: (pipeline: object[] = [], options?: Read) => {
      const [first, ...rest] = pipeline as { $match?: QueryFilter }[]
      const filter = first?.$match ?? {}
      const [$match, before] = narrowed(filter, options?.session)
      const stages = first?.$match ? rest : pipeline
      return after(
        before,
        aggregate($match === filter ? pipeline : [{ $match }, ...stages], options as object),
      )
    },
    distinct: async (key: string, query: QueryFilter = {}, options?: Read) => {
      const [filter, before] = narrowed(query, options?.session)
      await before?.()
      return distinct(key, filter, options)
    },
  })
}

function after<C>(before: (() => Promise<void>) | undefined, cursor: C): C {
  if (!before) return cursor
  const beginning = cursor as Beginning
  const begin = beginning._initialize.bind(cursor)
  beginning._initialize = async (session) => {
    await before()
    return begin(session)
  }
  return cursor
}

/** Before the read would be told to have taken too long. */
const PATIENCE_MS = QUERY_MS - 1000

/** A transaction would still see what was there when it began: it is repeated. */
async function wait(underWay: UnderWay, ids: string[], session: ClientSession | undefined): Promise<void> {
  if (session?.inTransaction())
    throw new MongoServerError({
      ...{ message: 'Work is under way', code: 112, errorLabels: ['TransientTransactionError'] },
    })
  for (const id of ids) if (!(await underWay.done(id, PATIENCE_MS))) throw unavailable()
}

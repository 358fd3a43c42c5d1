import type { ClientSession, Collection, Db } from 'mongodb'
import { ServiceError } from '../../../schemas/errors.ts'
import type { ParseDocument } from '../documents/parse-format.ts'
import { wrapCollections } from '../reading/deadlines.ts'
import type { Backfill } from './backfill.ts'
import type { Derivation } from './derivation.ts'

/** Internals of the driver's cursors: the query, and the method that sends it. */
interface CursorInternals {
  cursorFilter?: object
  findOptions?: { sort?: object; projection?: object }
  pipeline?: object[]
  map(transform: (document: ParseDocument) => unknown): unknown
  _initialize(session: ClientSession): Promise<unknown>
}

/**
 * Keeps reads correct while a backfill is pending. Whole documents get their derived fields on the fly. A
 * query that filters, sorts or sums by derived fields gets a 503, because it would miss documents.
 */
export function guardPendingReads(db: Db, backfill: Backfill): void {
  wrapCollections(db, (collection) => guardCollection(collection, backfill))
}

/** The driver builds all other reads (findOne, countDocuments, …) on these. */
function guardCollection(collection: Collection, backfill: Backfill): Collection {
  const name = collection.collectionName
  const [find, aggregate, distinct] = [
    collection.find.bind(collection),
    collection.aggregate.bind(collection),
    collection.distinct.bind(collection) as (...args: unknown[]) => Promise<unknown[]>,
  ]
  return Object.assign(collection, {
    find: (...args: Parameters<typeof find>) => guardCursor(find(...args), name, backfill),
    aggregate: (...args: Parameters<typeof aggregate>) => guardCursor(aggregate(...args), name, backfill),
    distinct: async (key: string, ...more: unknown[]) => {
      requireDerivedFields(backfill, name, [{ [key]: 1 }, ...more])
      return distinct(key, ...more)
    },
  })
}

/** Checks a cursor when it sends its command: sort and projection may be set after its creation. */
function guardCursor<C extends object>(cursor: C, name: string, backfill: Backfill): C {
  if (backfill.isDone) return cursor
  const internals = cursor as unknown as CursorInternals
  const initialize = internals._initialize.bind(cursor)
  internals._initialize = async (session) => {
    const { cursorFilter, findOptions = {}, pipeline } = internals
    requireDerivedFields(backfill, name, [cursorFilter, findOptions.sort, findOptions.projection, pipeline])
    const pending = backfill.pendingIn(name)
    if (pending?.areShown)
      internals.map((document) =>
        isWholeDocument(document) ? backfill.complete(pending, document) : document,
      )
    return initialize(session)
  }
  return cursor
}

/** The document was not reduced by a projection or created by a pipeline. */
const isWholeDocument = (document: ParseDocument): boolean =>
  '_rperm' in document && '_created_at' in document

/** @throws Unavailable for a query on derived fields of a pending collection, or with a join to one */
function requireDerivedFields(backfill: Backfill, name: string, query: unknown): void {
  const pending = backfill.pendingIn(name)
  if ((pending && hasDerivedField(query, pending)) || hasPendingJoin(query, backfill))
    throw new ServiceError('Unavailable', {
      detail: 'Data of an earlier version of this service is being prepared for queries.',
      retryAfter: RETRY_AFTER_S,
    })
}

const RETRY_AFTER_S = 5

function hasDerivedField(query: unknown, derivation: Derivation): boolean {
  const isDerived = (path: string) => derivation.fields.includes(path.split('.')[0] as string)
  if (typeof query === 'string') return query.startsWith('$') && isDerived(query.slice(1))
  if (query instanceof Map) return hasDerivedField(Object.fromEntries(query), derivation)
  if (typeof query !== 'object' || query === null || '_bsontype' in query) return false
  if (Array.isArray(query)) return query.some((one) => hasDerivedField(one, derivation))
  return Object.entries(query).some(([name, value]) => isDerived(name) || hasDerivedField(value, derivation))
}

/** A stage of the pipeline reads another, pending collection. */
function hasPendingJoin(query: unknown, backfill: Backfill): boolean {
  if (typeof query !== 'object' || query === null || '_bsontype' in query) return false
  if (Array.isArray(query)) return query.some((one) => hasPendingJoin(one, backfill))
  return Object.entries(query).some(([name, value]) => {
    const { from, coll } = (value ?? {}) as { from?: unknown; coll?: unknown }
    const other = name === '$lookup' ? from : name === '$unionWith' ? (coll ?? value) : undefined
    return (typeof other === 'string' && backfill.isPending(other)) || hasPendingJoin(value, backfill)
  })
}

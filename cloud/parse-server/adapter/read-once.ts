import type { Db } from 'mongodb'
import type { LastRead } from '../../../records/store/announce.ts'
import { createLookup, type Lookup } from '../../../records/store/batching/lookup.ts'
import { documentsOf } from '../../../records/store/documents/database.ts'
import { isOutage, unavailable } from '../../../records/store/documents/outage.ts'
import type { ParseDocument } from '../../../records/store/documents/parse-format.ts'

type Found = Record<string, unknown> & { objectId: string; _wperm?: string[] }
type Find = (
  this: unknown,
  className: string,
  schema: unknown,
  query: object,
  options: object,
) => Promise<Found[]>

/** How Parse Server turns a document into an object; it takes the permissions out of the document. */
export type ToObject = (className: string, document: object, schema: unknown) => Found

/** Updates under way at the same time; more, and the oldest is looked up after all. */
const mostRemembered = 1000

/** How Parse Server reads the one object that a trigger is about. */
const ofOne = { sort: {}, caseInsensitive: false }
const isOfOne = (options: object): boolean => JSON.stringify(options) === JSON.stringify(ofOne)

const keyOf = (className: string, objectId: unknown): string => `${className}$${objectId}`

/** The read whose result Parse Server only counts. */
const isPermissionCheck = (options: object): boolean => Object.keys(options).join() === 'readPreference'

/**
 * Before an update with a trigger Parse Server reads the object, and then reads it again only to see whether the
 * caller may write it. Objects that are read at the same time are read together, and the second read is answered
 * from the first. Nothing is granted by it: the update itself carries the same condition to the database. The history
 * keeps what was read: it is told here.
 */
export function readOnce(adapter: { find: Find; database: Db }, toObject: ToObject): LastRead {
  const { find } = adapter
  const lookups = new Map<string, Lookup<ParseDocument>>()
  const remembered = new Map<string, ParseDocument>()

  const lookupIn = (className: string): Lookup<ParseDocument> => {
    const among = (ids: string[]) =>
      documentsOf({ db: adapter.database }, className).find({ _id: { $in: ids } })
    const lookup =
      lookups.get(className) ??
      createLookup(
        ({ _id }) => _id,
        (ids) => among(ids).toArray() as Promise<ParseDocument[]>,
      )
    lookups.set(className, lookup)
    return lookup
  }

  const readOne = async (className: string, schema: unknown, objectId: string): Promise<Found[]> => {
    const document = await lookupIn(className)(objectId).catch((error: unknown) => {
      throw isOutage(error) ? unavailable(error) : error
    })
    if (!document) return []
    if (remembered.size >= mostRemembered) remembered.delete(remembered.keys().next().value ?? '')
    remembered.set(keyOf(className, objectId), document)
    return [toObject(className, structuredClone(document), schema)]
  }

  adapter.find = async function (className, schema, query, options) {
    const { objectId, _wperm: wanted, ...more } = query as { objectId?: unknown; _wperm?: { $in: unknown[] } }
    const isOne = typeof objectId === 'string' && Object.keys(more).length === 0 && !className.startsWith('_')
    if (isOne && !wanted && isOfOne(options)) return readOne(className, schema, objectId)
    const permitted =
      isOne && wanted && isPermissionCheck(options) && remembered.get(keyOf(className, objectId))?._wperm
    if (!permitted) return find.call(this, className, schema, query, options)
    return permitted.some((who) => wanted.$in.includes(who)) ? [{ objectId }] : []
  }

  return (className, objectId) => {
    const key = keyOf(className, objectId)
    const document = remembered.get(key)
    remembered.delete(key)
    return document
  }
}

import { createLookup, type Lookup } from '../../../records/store/batching/lookup.ts'

type Found = Record<string, unknown> & { objectId: string; _wperm?: string[] }
type Find = (className: string, schema: unknown, query: object, options: object) => Promise<Found[]>

/** Updates under way at the same time; more, and the oldest is looked up after all. */
const mostRemembered = 1000

/** How Parse Server reads the one object that a trigger is about. */
const ofOne = { sort: {}, caseInsensitive: false }
const isOfOne = (options: object): boolean => JSON.stringify(options) === JSON.stringify(ofOne)

/** The read whose result Parse Server only counts. */
const isPermissionCheck = (options: object): boolean => Object.keys(options).join() === 'readPreference'

/**
 * Before an update with a trigger Parse Server reads the object, and then reads it again only to see whether the
 * caller may write it. Objects that are read at the same time are read together, and the second read is answered
 * from the first. Nothing is granted by it: the update itself carries the same condition to the database.
 */
export function readOnce(adapter: { find: Find }): void {
  const find = adapter.find.bind(adapter)
  const lookups = new Map<string, Lookup<Found>>()
  const schemas = new Map<string, unknown>()
  const remembered = new Map<string, Found>()

  const readOne = async (className: string, schema: unknown, objectId: string): Promise<Found[]> => {
    // A class may have got fields since the last time.
    schemas.set(className, schema)
    const lookup =
      lookups.get(className) ??
      createLookup(idOf, (ids) => find(className, schemas.get(className), among(ids), ofOne))
    lookups.set(className, lookup)
    const found = await lookup(objectId)
    if (!found) return []
    if (remembered.size >= mostRemembered) remembered.delete(remembered.keys().next().value ?? '')
    remembered.set(`${className}$${objectId}`, found)
    return [structuredClone(found)]
  }

  adapter.find = async (className, schema, query, options) => {
    const { objectId, _wperm: wanted, ...more } = query as { objectId?: unknown; _wperm?: { $in: unknown[] } }
    const isOne = typeof objectId === 'string' && Object.keys(more).length === 0
    if (isOne && !wanted && isOfOne(options)) return readOne(className, schema, objectId)
    if (!isOne || !wanted || !isPermissionCheck(options)) return find(className, schema, query, options)
    const key = `${className}$${objectId}`
    const known = remembered.get(key)
    remembered.delete(key)
    if (!known?._wperm) return find(className, schema, query, options)
    return known._wperm.some((who) => wanted.$in.includes(who)) ? [known] : []
  }
}

const idOf = ({ objectId }: Found): string => objectId
const among = (ids: string[]) => ({ objectId: { $in: ids } })

type Found = Record<string, unknown> & { objectId: string; _wperm?: string[] }
type Find = (className: string, schema: unknown, query: object, options: object) => Promise<Found[]>

/** Updates under way at the same time; more, and the oldest is looked up after all. */
const mostRemembered = 1000

/**
 * Before an update with a trigger Parse Server reads the object, and then reads it again only to see whether the
 * caller may write it. The second read is answered from the first one, which is a third of the database's work.
 * Nothing is granted by it: the update itself carries the same condition to the database.
 */
export function readOnce(adapter: { find: Find }): void {
  const find = adapter.find.bind(adapter)
  const writers = new Map<string, Found>()
  adapter.find = async (className, schema, query, options) => {
    const { objectId, _wperm: wanted, ...more } = query as { objectId?: unknown; _wperm?: { $in: unknown[] } }
    if (typeof objectId !== 'string' || Object.keys(more).length > 0)
      return find(className, schema, query, options)
    const key = `${className}$${objectId}`
    if (wanted === undefined) {
      const found = await find(className, schema, query, options)
      if (found[0]) remember(writers, key, found[0])
      return found
    }
    const known = isPermissionCheck(options) ? writers.get(key) : undefined
    writers.delete(key)
    if (!known?._wperm) return find(className, schema, query, options)
    return known._wperm.some((who) => wanted.$in.includes(who)) ? [known] : []
  }
}

function remember(writers: Map<string, Found>, key: string, found: Found): void {
  if (writers.size >= mostRemembered) writers.delete(writers.keys().next().value ?? '')
  writers.set(key, found)
}

/** The read whose result Parse Server only counts. */
const isPermissionCheck = (options: object): boolean => Object.keys(options).join() === 'readPreference'

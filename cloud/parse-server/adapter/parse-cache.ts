import { LRUCache } from 'lru-cache'

/** One of Parse Server's caches: of the roles of users, or of the users of sessions. Clearing one clears all. */
export interface ParseCache {
  get(key: string): Promise<unknown>
  put(key: string, value: unknown, ttl?: number): unknown
  clear(): Promise<void>
}

/** The running lookups of a key. */
interface Lookups {
  count: number
  /** Start of the oldest one, counted in changes. */
  since: number
}

/** Longer than any lookup takes. One that fails is not reported, and counts until then. */
const MAX_LOOKUP_MS = 60_000
/** Values of further lookups are not cached. */
const MAX_LOOKUPS = 10_000

/**
 * Prevents Parse Server from caching what changed while it read it. Otherwise it would use the former value until
 * the cache entry expires.
 * @returns a function that clears the cache after a change
 */
export function preventStaleEntries(cache: ParseCache): () => Promise<void> {
  let changes = 0
  const lookups = new LRUCache<string, Lookups>({ max: MAX_LOOKUPS, ttl: MAX_LOOKUP_MS })
  const get = cache.get.bind(cache)
  const put = cache.put.bind(cache)
  cache.get = async (key) => {
    const value = await get(key)
    if (value) return value
    const running = lookups.get(key)
    if (running) running.count += 1
    else lookups.set(key, { count: 1, since: changes })
    return value
  }
  cache.put = (key, value, ttl) => {
    const running = lookups.get(key)
    if (!running) return
    running.count -= 1
    if (running.count === 0) lookups.delete(key)
    return running.since === changes ? put(key, value, ttl) : undefined
  }
  return () => {
    changes += 1
    return cache.clear()
  }
}

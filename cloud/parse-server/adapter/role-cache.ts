/** Parse Server's cache of user roles. */
export interface RoleCache {
  get(userId: string): Promise<unknown>
  put(userId: string, roles: unknown, ttl?: number): unknown
  clear(): Promise<void>
}

/** The running lookups of a user's roles. */
interface Lookups {
  count: number
  /** Start of the oldest one, counted in changes. */
  since: number
  startMs: number
}

/** Longer than any lookup takes. One that fails is not reported, and counts until then. */
const MAX_LOOKUP_MS = 60_000

/**
 * Prevents Parse Server from caching roles that changed while it read them. Otherwise it would grant them
 * until the cache entry expires.
 * @returns a function that clears the cache after roles have changed
 */
export function preventStaleRoles(cache: RoleCache): () => Promise<void> {
  let changes = 0
  const lookups = new Map<string, Lookups>()
  const get = cache.get.bind(cache)
  const put = cache.put.bind(cache)
  cache.get = async (userId) => {
    const roles = await get(userId)
    if (roles) return roles
    const running = lookups.get(userId)
    const now = performance.now()
    if (running && now - running.startMs < MAX_LOOKUP_MS) running.count += 1
    else lookups.set(userId, { count: 1, since: changes, startMs: now })
    return roles
  }
  cache.put = (userId, roles, ttl) => {
    const running = lookups.get(userId)
    if (!running) return
    running.count -= 1
    if (running.count === 0) lookups.delete(userId)
    return running.since === changes ? put(userId, roles, ttl) : undefined
  }
  return () => {
    changes += 1
    return cache.clear()
  }
}

/** Parse Server's cache of user roles. */
export interface RoleCache {
  get(userId: string): Promise<unknown>
  put(userId: string, roles: unknown, ttl?: number): unknown
  clear(): Promise<void>
}

/**
 * Prevents Parse Server from caching roles that changed while it read them. Otherwise it would grant them
 * until the cache entry expires.
 * @returns a function that clears the cache after roles have changed
 */
export function preventStaleRoles(cache: RoleCache): () => Promise<void> {
  let changes = 0
  /** Start of the oldest running lookup of a user's roles, counted in changes. */
  const lookups = new Map<string, number>()
  const get = cache.get.bind(cache)
  const put = cache.put.bind(cache)
  cache.get = async (userId) => {
    const roles = await get(userId)
    if (!roles && !lookups.has(userId)) lookups.set(userId, changes)
    return roles
  }
  cache.put = (userId, roles, ttl) => {
    const since = lookups.get(userId)
    lookups.delete(userId)
    return since === changes ? put(userId, roles, ttl) : undefined
  }
  return () => {
    changes += 1
    return cache.clear()
  }
}

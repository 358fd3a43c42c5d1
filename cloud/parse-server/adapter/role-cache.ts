/** What Parse Server notes of who holds which roles. */
export interface RoleCache {
  get(userId: string): Promise<unknown>
  put(userId: string, roles: unknown, ttl?: number): unknown
  clear(): Promise<void>
}

/**
 * Parse Server would note the roles that it has read even when they have changed meanwhile, and grant them until the
 * note is old: this keeps it from that.
 * @returns what forgets all notes, for when roles have changed
 */
export function forgettable(cache: RoleCache): () => Promise<void> {
  let changes = 0
  /** When the first of those that are looking a user's roles up began, counted in changes. */
  const lookups = new Map<string, number>()
  const [get, put] = [cache.get.bind(cache), cache.put.bind(cache)]
  cache.get = async (userId) => {
    const noted = await get(userId)
    if (!noted && !lookups.has(userId)) lookups.set(userId, changes)
    return noted
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

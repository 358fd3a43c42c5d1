import type { LRUCache } from 'lru-cache'

/**
 * Returns a definition from the short-lived cache. Concurrent lookups share one query; missing definitions
 * and errors are not cached.
 */
export function getCachedDefinition<T extends object>(
  definitions: LRUCache<string, object>,
  key: string,
  look: () => Promise<T | undefined>,
): Promise<T | undefined> {
  const cachedDefinition = definitions.get(key) as Promise<T> | undefined
  if (cachedDefinition) return cachedDefinition
  const looking = look()
  definitions.set(key, looking)
  const forget = () => definitions.get(key) === looking && definitions.delete(key)
  looking.then((definition) => definition || forget(), forget)
  return looking
}

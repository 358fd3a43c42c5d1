import type { LRUCache } from 'lru-cache'

/**
 * What was defined under a key at most a moment ago. Those who ask at the same time share one look; what is not there is looked
 * for anew.
 */
export function recent<T extends object>(
  definitions: LRUCache<string, object>,
  key: string,
  look: () => Promise<T | undefined>,
): Promise<T | undefined> {
  const known = definitions.get(key) as Promise<T> | undefined
  if (known) return known
  const looking = look()
  definitions.set(key, looking)
  const forget = () => definitions.get(key) === looking && definitions.delete(key)
  looking.then((found) => found || forget(), forget)
  return looking
}

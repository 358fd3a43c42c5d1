/** Keeps what is computed from an object that never changes, such as the fields of a kind. */
export function memoizeByObject<K extends object, R>(compute: (key: K) => R): (key: K) => R {
  const cache = new WeakMap<K, { result: R }>()
  return (key) => {
    const entry = cache.get(key) ?? { result: compute(key) }
    cache.set(key, entry)
    return entry.result
  }
}

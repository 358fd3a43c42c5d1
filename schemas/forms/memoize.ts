/** Keeps what is computed from an object that never changes, such as the fields of a kind. */
export function memoizeByObject<K extends object, R>(compute: (key: K) => R): (key: K) => R {
  const known = new WeakMap<K, { result: R }>()
  return (key) => {
    const entry = known.get(key) ?? { result: compute(key) }
    known.set(key, entry)
    return entry.result
  }
}

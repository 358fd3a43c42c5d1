/** A condition of the database. */
export type Filter = Record<string, unknown>

/** What must be true for all of them; undefined: nothing is known. */
export function both(filters: readonly (Filter | undefined)[]): Filter | undefined {
  const known = filters.filter((filter) => filter !== undefined)
  return known.length > 1 ? { $and: known } : known[0]
}

/** What must be true for one of them; undefined: one may be true of anything. */
export function either(filters: readonly (Filter | undefined)[]): Filter | undefined {
  const known = filters.filter((filter) => filter !== undefined)
  if (known.length < filters.length || known.length === 0) return undefined
  return known.length > 1 ? { $or: known } : known[0]
}

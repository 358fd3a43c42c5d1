/** Sorting documents as MongoDB does: by the smallest element of an array when ascending, the largest when descending. */
import type { Document } from 'bson'
import { type Collation, compare } from './compare.ts'
import { fail } from './errors.ts'
import { lookup } from './paths.ts'
import { isNumeric, isObject, toNumber } from './values.ts'

type Comparator = (a: Document, b: Document) => number

export interface SortPart {
  field: string
  descending: boolean
}

/** @throws 2 for a direction that is neither 1 nor -1 */
export const sortParts = (spec: unknown): SortPart[] => {
  if (spec === undefined || spec === null) return []
  if (!isObject(spec)) return fail(14, "BSON field 'sort' is the wrong type, expected type 'object'")
  return Object.entries(spec).map(([field, direction]) => {
    if (isObject(direction) && '$meta' in direction)
      return fail(115, '$meta sort is not supported by this engine')
    const sign = isNumeric(direction) ? toNumber(direction) : 0
    if (sign !== 1 && sign !== -1)
      return fail(15975, '$sort key ordering must be 1 (for ascending) or -1 (for descending)')
    return { field, descending: sign === -1 }
  })
}

/** The value a document is sorted by: of an array its extreme element, null for what is missing. */
export const sortValue = (
  document: Document,
  parts: string[],
  descending: boolean,
  collation?: Collation,
): unknown => {
  let best: unknown
  let any = false
  const offer = (value: unknown) => {
    const better = !any || compare(value, best, collation) * (descending ? -1 : 1) < 0
    if (better) best = value
    any = true
  }
  for (const value of lookup(document, parts)) {
    if (!Array.isArray(value)) offer(value ?? null)
    else if (value.length === 0) offer(undefined)
    else value.forEach(offer)
  }
  return any ? best : null
}

export const sorter = (spec: unknown, collation?: Collation): Comparator => {
  const parts = sortParts(spec).map((part) => ({ ...part, path: part.field.split('.') }))
  const cached = new WeakMap<Document, unknown[]>()
  const values = (document: Document): unknown[] => {
    const known = cached.get(document)
    if (known) return known
    const found = parts.map(({ path, descending }) => sortValue(document, path, descending, collation))
    cached.set(document, found)
    return found
  }
  return (a, b) => {
    const [x, y] = [values(a), values(b)]
    for (let i = 0; i < parts.length; i++) {
      const order = compare(x[i], y[i], collation)
      if (order) return parts[i]?.descending ? -order : order
    }
    return 0
  }
}

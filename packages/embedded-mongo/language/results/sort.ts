/**
 * Sorts documents like MongoDB: by the smallest element of an array when ascending, the largest when
 * descending.
 */
import type { Document } from 'bson'
import { getMember, isNumeric, isObject, toNumber, valuesAtPath } from '../../values/bson-values.ts'
import { type Collation, compare } from '../../values/compare.ts'
import { fail } from '../../values/errors.ts'

export interface SortPart {
  field: string
  descending: boolean
}

/** @throws 2 for a direction other than 1 and -1 */
export const parseSort = (spec: unknown): SortPart[] => {
  if (spec === undefined || spec === null) return []
  if (!isObject(spec)) return fail(14, "BSON field 'sort' is the wrong type, expected type 'object'")
  return Object.entries(spec).map(([field, direction]) => {
    if (!isNumeric(direction) && !isObject(direction))
      return fail(15974, `Illegal key in $sort specification: ${field}`)
    const sign = isNumeric(direction) ? toNumber(direction) : 0
    if (sign !== 1 && sign !== -1)
      return fail(15975, '$sort key ordering must be 1 (for ascending) or -1 (for descending)')
    if (field.startsWith('$') && field !== '$natural')
      fail(16410, `FieldPath field names may not start with '$': ${field}`)
    return { field, descending: sign === -1 }
  })
}

/** The sort value of a document: the extreme element of an array; null for a missing value. */
const sortValue = (
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
  for (const value of valuesAtPath(document, parts)) {
    if (!Array.isArray(value)) offer(value ?? null)
    else if (value.length === 0) offer(undefined)
    else value.forEach(offer)
  }
  return any ? best : null
}

/** @throws 2 if two keys lead through different arrays */
const checkParallel = (document: Document, paths: string[][]): void => {
  const arrays = new Set(
    paths.map((path) => firstArray(document, path)).filter((array) => array !== undefined),
  )
  if (arrays.size > 1) fail(2, 'cannot sort with keys that are parallel arrays')
}

const firstArray = (document: Document, path: string[]): unknown => {
  let value: unknown = document
  for (const part of path) {
    value = getMember(value, part)
    if (Array.isArray(value)) return value
  }
  return undefined
}

export interface Sorter {
  /** The sort values of a document. */
  values(document: Document): unknown[]
  compare(a: unknown[], b: unknown[]): number
}

export const createSorter = (parts: SortPart[], collation?: Collation): Sorter => {
  const paths = parts.map(({ field }) => field.split('.'))
  return {
    values: (document) => {
      if (parts.length > 1) checkParallel(document, paths)
      return parts.map(({ descending }, i) =>
        sortValue(document, paths[i] as string[], descending, collation),
      )
    },
    compare: (a, b) => {
      for (const [i, { descending }] of parts.entries()) {
        const order = compare(a[i], b[i], collation)
        if (order) return descending ? -order : order
      }
      return 0
    },
  }
}

export const sortDocuments = (documents: Document[], spec: unknown, collation?: Collation): Document[] => {
  const order = createSorter(parseSort(spec), collation)
  const rows = documents.map((document) => ({ document, values: order.values(document) }))
  return rows.sort((a, b) => order.compare(a.values, b.values)).map(({ document }) => document)
}

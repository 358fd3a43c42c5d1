/** The entries of a document in an index. */
import type { Document } from 'bson'
import { getMember, isIndex, isNullish, isObject } from '../../../values/bson-values.ts'
import { fail } from '../../../values/errors.ts'
import type { Index } from '../indexes.ts'
import { encodeEntries, encodeEntry } from './key-encoding.ts'
import { isLosslessInKey } from './key-reader.ts'

interface PathPosition {
  value: unknown
  rest: readonly string[]
}

/** The entries of a document in an index. */
export interface IndexEntries {
  readonly keys: readonly Buffer[]
  /** The components that contain arrays. */
  readonly arrays: ReadonlySet<number>
  /** Whether each key gives the value of a component back. */
  isLossless(component: number): boolean
  /**
   * Some element of the array has no key of its own, or several, unless it has no value at all; or a document
   * has no array, but a single element.
   */
  readonly uneven: boolean
  /** The values that the keys were made of, in the order of the keys. */
  values(): readonly unknown[][]
}

/**
 * The document's entries in an index; none if a sparse or partial index leaves the document out.
 * @param id the id of its record, with which the keys end
 */
export const indexEntries = (index: Index, id: Uint8Array, document: Document): IndexEntries => {
  if (index.filter && !index.filter(document)) return NO_ENTRIES
  const end = index.unique ? NO_BYTES : id
  if (!index.hasDottedFields) return plainEntries(index, document, end)
  return elementEntries(index, document, end) ?? deepEntries(index, document, end)
}

const NO_BYTES = Buffer.alloc(0)
const NO_ARRAYS: ReadonlySet<number> = new Set()
const NO_ENTRIES: IndexEntries = {
  keys: [],
  arrays: NO_ARRAYS,
  isLossless: () => true,
  uneven: false,
  values: () => [],
}

/** A faster version for an index on fields of the elements of one array, beside top-level fields. */
const elementEntries = (index: Index, document: Document, end: Uint8Array): IndexEntries | undefined => {
  const rows = elementRows(index, document)
  if (!rows || index.sparse) return undefined
  const entries = distinct(index, rows, end)
  const parts = index.elements?.parts ?? []
  const hasValue = (row: readonly unknown[]) =>
    row.some((value, at) => parts[at] !== undefined && !isNullish(value))
  return {
    ...entries,
    arrays: index.elements?.components ?? NO_ARRAYS,
    uneven: entries.values().filter(hasValue).length < rows.filter(hasValue).length,
  }
}

/** The values of each element of the array; undefined if there is none, or if it contains further arrays. */
const elementRows = ({ elements, fields }: Index, document: Document): unknown[][] | undefined => {
  const array = elements && getMember(document, elements.root)
  if (!Array.isArray(array) || array.length === 0) return undefined
  const outerValues = fields.map((field, at) =>
    elements?.parts[at] === undefined ? getMember(document, field) : null,
  )
  const rows = array.map((element) =>
    outerValues.map((other, at) => {
      const part = elements?.parts[at]
      return (part === undefined ? other : getMember(element, part)) ?? null
    }),
  )
  const isFlat = !array.some(Array.isArray) && !rows.some((row) => row.some(Array.isArray))
  return isFlat ? rows : undefined
}

/** The element of the document's array that has this key; undefined if a write has removed it. */
export const elementOf = (index: Index, id: Uint8Array, document: Document, key: Uint8Array): unknown => {
  const at = elementRows(index, document)?.findIndex((row) => encodeEntry(index, row, id).equals(key)) ?? -1
  const array = getMember(document, index.elements?.root ?? '')
  return Array.isArray(array) ? array[at] : undefined
}

const deepEntries = (index: Index, document: Document, end: Uint8Array): IndexEntries => {
  const state = { arrays: new Set<number>(), present: false }
  const walks = index.fields.map((field) => ({ value: document, rest: field.split('.') }))
  const rows = expand(walks, state)
  if (index.sparse && !state.present) return NO_ENTRIES
  const root = index.elements && getMember(document, index.elements.root)
  // Without elements, keys are null in their components.
  const uneven = isObject(root) || (Array.isArray(root) && root.length > 0)
  return { ...distinct(index, rows, end), arrays: state.arrays, uneven }
}

/** Removes rows that are equal under the index's collation. */
const distinct = (
  index: Index,
  rows: unknown[][],
  end: Uint8Array,
): Omit<IndexEntries, 'arrays' | 'uneven'> => {
  const unique = new Map<string, { key: Buffer; row: unknown[] }>()
  for (const row of rows) {
    const key = encodeEntry(index, row, end)
    unique.set(key.toString('latin1'), { key, row })
  }
  const entries = [...unique.values()]
  return {
    keys: entries.map(({ key }) => key),
    isLossless: (component) => entries.every(({ row }) => isLosslessInKey(row[component], index.collation)),
    values: () => entries.map(({ row }) => row),
  }
}

/** A faster version for an index whose components are top-level fields, as in most indexes. */
const plainEntries = (index: Index, document: Document, end: Uint8Array): IndexEntries => {
  const row: unknown[] = []
  let present = false
  let at = -1
  for (const field of index.fields) {
    const value = getMember(document, field)
    if (Array.isArray(value)) {
      if (at >= 0) fail(171, 'cannot index parallel arrays')
      at = row.length
    } else if (value !== undefined) present = true
    row.push(value ?? null)
  }
  if (at < 0) {
    if (index.sparse && !present) return NO_ENTRIES
    return {
      keys: [encodeEntry(index, row, end)],
      arrays: NO_ARRAYS,
      isLossless: (component) => isLosslessInKey(row[component], index.collation),
      uneven: false,
      values: () => [row],
    }
  }
  const array = row[at] as unknown[]
  const isEmpty = array.length === 0
  if (index.sparse && !present && !isEmpty && array.every((element) => element === undefined))
    return NO_ENTRIES
  const arrays = new Set([at])
  // An empty array sorts before null.
  const elements = isEmpty ? [undefined] : [...new Set(array)].map((element) => element ?? null)
  const values = () => elements.map((element) => row.with(at, element))
  const tell = !index.collation && elements.every((element) => typeof element === 'string')
  if (!tell && !isEmpty) return { ...distinct(index, values(), end), arrays, uneven: false }
  return {
    keys: encodeEntries(index, row, at, elements, end),
    arrays,
    isLossless: (component) => component === at || isLosslessInKey(row[component], index.collation),
    uneven: false,
    values,
  }
}

/**
 * Follows each component to its end or to an array. Components that meet the same array go through it
 * together.
 */
const expand = (walks: PathPosition[], state: { arrays: Set<number>; present: boolean }): unknown[][] => {
  const ends = walks.map(advance)
  let array: unknown[] | undefined
  for (const { value } of ends) {
    if (!Array.isArray(value)) continue
    if (array && array !== value) fail(171, 'cannot index parallel arrays')
    array = value
  }
  if (!array) return [ends.map((end) => finish(end, state))]
  ends.forEach(({ value }, component) => {
    if (value === array) state.arrays.add(component)
  })
  if (array.length === 0)
    return [ends.map((end) => (end.value === array ? emptyArray(end, state) : finish(end, state)))]
  return array.flatMap((element) =>
    expand(
      ends.map((end) => intoElement(end, array as unknown[], element)),
      state,
    ),
  )
}
/** An element of an array in which a component ends, even if the element is an array itself. */
class Leaf {
  readonly value: unknown
  constructor(value: unknown) {
    this.value = value
  }
}

const advance = ({ value, rest }: PathPosition): PathPosition => {
  let at = 0
  let current = value
  while (at < rest.length && !Array.isArray(current) && !(current instanceof Leaf))
    current = getMember(current, rest[at++] as string)
  return { value: current, rest: rest.slice(at) }
}

const finish = ({ value }: PathPosition, state: { present: boolean }): unknown => {
  const fieldValue = value instanceof Leaf ? value.value : value
  if (fieldValue !== undefined) state.present = true
  return fieldValue ?? null
}

/** An empty array sorts before null; paths into it find nothing. */
const emptyArray = ({ rest }: PathPosition, state: { present: boolean }): unknown => {
  if (rest.length > 0) return null
  state.present = true
  return undefined
}

const intoElement = (end: PathPosition, array: unknown[], element: unknown): PathPosition => {
  if (end.value !== array) return end
  const [part, ...below] = end.rest
  if (part === undefined) return { value: new Leaf(element), rest: [] }
  if (isIndex(part))
    return { value: new Leaf(advance({ value: array[Number(part)], rest: below }).value), rest: [] }
  return isObject(element) ? { value: element, rest: end.rest } : { value: new Leaf(undefined), rest: [] }
}

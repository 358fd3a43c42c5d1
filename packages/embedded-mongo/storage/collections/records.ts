/**
 * Documents in their collections: records under increasing ids. Writes keep all indexes and the count in step
 * with them.
 */
import { type Document, ObjectId } from 'bson'
import { bsonType, decode, rootFieldOf } from '../../values/bson-values.ts'
import { CommandError, MAX_MESSAGE_LENGTH } from '../../values/errors.ts'
import { changedFields, keepFields } from '../../values/raw-documents.ts'
import type { CommandTimer } from '../../values/steps.ts'
import type { Entry, View, WritableView } from '../disk/overlay.ts'
import { type Collection, keyInSpace, recordArray, recordLoss, setFlag, spaceBounds } from './catalog.ts'
import { ID_BYTES } from './id-set.ts'
import type { Index } from './indexes.ts'
import { type IndexEntries, indexEntries } from './keys/index-entries.ts'
import { endOfPrefix, isPossiblyCut } from './keys/key-encoding.ts'
import { tallyBounds, tallyExistingDocument, updateTallies } from './tallies.ts'

const NO_VALUE = Buffer.alloc(0)

export interface StoredRecord {
  id: Buffer
  bytes: Buffer
}

/** A record with its decoded document. */
export interface MatchedRecord extends StoredRecord {
  document: Document
}

const recordKey = (collection: Collection, id: Buffer): Buffer => keyInSpace(collection.space, id)

export const readRecord = (view: View, collection: Collection, id: Buffer): Buffer | undefined =>
  view.get(recordKey(collection, id))

/** All records in the order of their insertion. */
export function* scanRecords(view: View, collection: Collection, reverse = false): Iterable<StoredRecord> {
  const [low, high] = spaceBounds(collection.space)
  for (const { key, value } of view.range(low, high, reverse)) yield { id: key.subarray(4), bytes: value }
}

/** The entries of an index in a range. Only entries of unique indexes have a value beside their key. */
export function* scanIndex(
  view: View,
  { unique }: Pick<Index, 'unique'>,
  low: Buffer,
  high: Buffer,
  reverse = false,
  expected?: number,
): Iterable<Entry> {
  if (unique) yield* view.range(low, high, reverse, expected)
  else for (const key of view.keys(low, high, reverse, expected)) yield { key, value: NO_VALUE }
}

/** The record of an index entry. A multikey index may return the same record more than once. */
export const recordIdOf = ({ unique }: Pick<Index, 'unique'>, { key, value }: Entry): Buffer =>
  unique ? value : idAtEnd(key)

/** The record id at the end of a key, for an index that is not unique. */
export const idAtEnd = (key: Buffer): Buffer => key.subarray(key.length - ID_BYTES)

/** Ids only grow while the process lives, so that natural order is the order of insertion. */
export class RecordIds {
  readonly #last = new Map<number, number>()

  next(view: View, collection: Collection): Buffer {
    const id = (this.#last.get(collection.space) ?? lastId(view, collection)) + 1
    this.#last.set(collection.space, id)
    const bytes = Buffer.allocUnsafe(ID_BYTES)
    bytes.writeUIntBE(id, 0, ID_BYTES)
    return bytes
  }
}

const lastId = (view: View, collection: Collection): number => {
  for (const { id } of scanRecords(view, collection, true)) return id.readUIntBE(0, ID_BYTES)
  return 0
}

/**
 * The entries of a document in an index. In a unique index the value of an entry is the record id, otherwise
 * its key ends with the id.
 */
interface Entries extends IndexEntries {
  index: Index
}

const entriesIn = (
  indexes: readonly Index[],
  { id, document }: Pick<MatchedRecord, 'id' | 'document'>,
): Entries[] => indexes.map((index) => ({ index, ...indexEntries(index, id, document) }))

/** Raises the flags of an index before its new keys exist. */
const setFlagsOf = (
  view: WritableView,
  { index, keys, arrays, isLossless, uneven }: Entries,
  id: Buffer,
): void => {
  if (keys.length === 0) return
  for (const component of arrays) recordArray(view, index, component)
  if (arrays.size > 0) setFlag(view, index, 'multikey')
  if (uneven && index.uneven !== undefined) setFlag(view, index, 'uneven')
  if (keys.some((key) => isPossiblyCut(key, index.unique ? NO_VALUE : id))) setFlag(view, index, 'cut')
  for (let component = 0; component < index.fields.length; component++)
    if (!isLossless(component)) recordLoss(view, index, component)
}

/** The entries of a document as they are stored. */
export const storedEntries = (
  indexes: readonly Index[],
  id: Buffer,
  document: Document,
): { index: Index; key: Buffer; value: Buffer }[] =>
  entriesIn(indexes, { id, document }).flatMap(({ index, keys }) =>
    keys.map((key) => ({ index, key, value: index.unique ? id : NO_VALUE })),
  )

const putEntry = (view: WritableView, { unique }: Index, key: Buffer, id: Buffer): void => {
  view.put(key, unique ? id : NO_VALUE)
}

const removeEntry = (view: WritableView, index: Index, key: Buffer, id: Buffer): void => {
  // While a unique index is being filled, the key may belong to another document. A transaction claims it all
  // the same: the build may neither add it nor give it away before the transaction ends.
  const owner = index.unique && !index.ready ? view.get(key) : undefined
  if (owner && !owner.equals(id)) view.put(key, owner)
  else view.remove(key)
}

/**
 * @param old the document's former entries: while an index is being filled, another document may have them,
 * too
 * @throws 11000 before anything is changed
 */
const checkUnique = (
  view: View,
  collection: Collection,
  now: readonly Entries[],
  id: Buffer,
  old: readonly Entries[] = [],
): void => {
  for (const [at, { index, keys, values }] of now.entries()) {
    if (!index.unique) continue
    for (const [i, key] of keys.entries()) {
      const ownerId = view.get(key)
      if (!ownerId || ownerId.equals(id) || old[at]?.keys.some((one) => one.equals(key))) continue
      throw duplicateKey(collection, index, values()[i] as unknown[])
    }
  }
}

/** @throws 11000 before anything is changed */
const addEntries = (
  view: WritableView,
  collection: Collection,
  indexes: readonly Index[],
  { id, document }: Pick<MatchedRecord, 'id' | 'document'>,
): void => {
  const newEntries = entriesIn(indexes, { id, document })
  checkUnique(view, collection, newEntries, id)
  for (const entries of newEntries) {
    setFlagsOf(view, entries, id)
    for (const key of entries.keys) putEntry(view, entries.index, key, id)
  }
}

export const insertRecord = (
  view: WritableView,
  collection: Collection,
  id: Buffer,
  document: Document,
  bytes: Buffer,
): void => {
  addEntries(view, collection, collection.indexes, { id, document })
  view.put(recordKey(collection, id), bytes)
  updateTallies(view, collection.indexes, undefined, document)
}

export const replaceRecord = (
  view: WritableView,
  collection: Collection,
  { id, document: before, bytes: bytesBefore }: MatchedRecord,
  document: Document,
  bytes: Buffer,
): void => {
  // Not the values: an equal number of another type has the same key, but may be one that keys do not give back.
  const changed = changedFields(bytesBefore, bytes)
  const indexes = collection.indexes.filter(
    ({ filter, fields }) => filter || fields.some((field) => changed.has(rootFieldOf(field))),
  )
  const old = entriesIn(indexes, { id, document: before })
  const now = entriesIn(indexes, { id, document })
  checkUnique(view, collection, now, id, old)
  for (const [i, entries] of now.entries()) {
    setFlagsOf(view, entries, id)
    const { index, keys } = entries
    const left = new Set(keys.map(nameOf))
    for (const key of old[i]?.keys ?? []) if (!left.delete(nameOf(key))) removeEntry(view, index, key, id)
    for (const key of keys) if (left.has(nameOf(key))) putEntry(view, index, key, id)
  }
  view.put(recordKey(collection, id), bytes)
  updateTallies(view, collection.indexes, before, document)
}

const nameOf = (key: Buffer): string => key.toString('latin1')

const removeRecord = (view: WritableView, collection: Collection, match: MatchedRecord): void => {
  for (const { index, keys } of entriesIn(collection.indexes, match))
    for (const key of keys) removeEntry(view, index, key, match.id)
  view.remove(recordKey(collection, match.id))
  updateTallies(view, collection.indexes, match.document, undefined)
}

/** The fields that indexes use: most documents have many more. */
const indexedRootFields = (indexes: readonly Index[]): Buffer[] => {
  const roots = indexes.flatMap(({ fields }) => fields.map(rootFieldOf))
  return [...new Set(roots)].map((root) => Buffer.from(root))
}

/**
 * Fills new indexes from the records after `from`. Returns the last record done when the time slice ends.
 * @throws 11000
 */
export const fillIndexes = (
  view: WritableView,
  collection: Collection,
  indexes: readonly Index[],
  from: Buffer | undefined,
  timer: CommandTimer,
): Buffer | undefined => {
  const [low, high] = spaceBounds(collection.space)
  const names = indexes.some(({ filter }) => filter) ? undefined : indexedRootFields(indexes)
  for (const { key, value } of view.range(from ? endOfPrefix(recordKey(collection, from)) : low, high)) {
    const id = key.subarray(4)
    const document = decode(names ? keepFields(value, names) : value)
    addEntries(view, collection, indexes, { id, document })
    tallyExistingDocument(view, indexes, document)
    if (timer.isSliceOver()) return id
  }
  return undefined
}

const countKey = ({ space }: { space: number }): Buffer => keyInSpace(0, Buffer.from(`#${space}`))

export const isCountKey = (key: Buffer): boolean => key.readUInt32BE(0) === 0 && key[4] === 0x23

/** The stored number of documents; nothing is counted. */
export const countRecords = (view: View, collection: Collection): number =>
  Number(view.get(countKey(collection))?.toString() ?? 0)

export const changeCount = (view: WritableView, collection: Collection, difference: number): void => {
  if (difference !== 0)
    view.put(countKey(collection), Buffer.from(String(countRecords(view, collection) + difference)))
}

/** A count as a transaction leaves it: keeps changes that others committed since its snapshot. */
export const countDifference = (now: Buffer | undefined, count: Buffer, before: Buffer | undefined): Buffer =>
  Buffer.from(String(Number(now ?? 0) + Number(count) - Number(before ?? 0)))

/** Removes the matches and updates the count. */
export const removeAll = (view: WritableView, collection: Collection, matches: MatchedRecord[]): number => {
  for (const match of matches) removeRecord(view, collection, match)
  changeCount(view, collection, -matches.length)
  return matches.length
}

const discardedKey = (space: number): Buffer =>
  keyInSpace(0, Buffer.from(`d${String(space).padStart(10, '0')}`))
const MAX_PURGED_AT_ONCE = 2000

/** Marks a space, and the count stored under its number, for removal. */
export const markDiscarded = (view: WritableView, space: number): void =>
  view.put(discardedKey(space), Buffer.from(String(space)))

export const discardedSpaces = (view: View): number[] =>
  [...view.range(discardedKey(0), keyInSpace(0, Buffer.from('e')))].map(({ value }) => Number(value))

/** Removes some bytes of a discarded space. Returns false when nothing is left to remove. */
export const purgeDiscarded = (view: WritableView): boolean => {
  const [next] = view.range(discardedKey(0), keyInSpace(0, Buffer.from('e')))
  if (!next) return false
  const space = Number(next.value)
  let left = MAX_PURGED_AT_ONCE
  for (const bounds of [spaceBounds(space), ...tallyBounds(space)])
    for (const key of view.keys(...bounds)) {
      view.remove(key)
      if (--left === 0) return true
    }
  view.remove(countKey({ space }))
  view.remove(next.key)
  return true
}

const duplicateKey = (collection: Collection, index: Index, values: unknown[]): CommandError => {
  const keyValue = Object.fromEntries(index.fields.map((field, i) => [field, values[i] ?? null]))
  const entries = Object.entries(keyValue).map(([field, value]) => `${field}: ${formatValue(value)}`)
  const collation = index.collation ? ` collation: ${formatValue(index.spec.collation)}` : ''
  const message = `E11000 duplicate key error collection: ${collection.ns} index: ${index.name}${collation} dup key: { ${entries.join(', ')} }`
  const keyPattern = index.spec.key
  return new CommandError(
    11000,
    message,
    message.length > MAX_MESSAGE_LENGTH ? { keyPattern } : { keyPattern, keyValue },
  )
}

/** A value as MongoDB's messages write it. */
const formatValue = (value: unknown): string => {
  if (value === null || value === undefined) return 'null'
  if (value instanceof Date) return `new Date(${value.getTime()})`
  if (value instanceof ObjectId) return `ObjectId('${value.toHexString()}')`
  if (Array.isArray(value)) return value.length === 0 ? '[]' : `[ ${value.map(formatValue).join(', ')} ]`
  if (typeof value === 'string') return JSON.stringify(value)
  if (bsonType(value) || typeof value !== 'object') return String(value)
  const entries = Object.entries(value).map(([field, inner]) => `${field}: ${formatValue(inner)}`)
  return entries.length === 0 ? '{}' : `{ ${entries.join(', ')} }`
}

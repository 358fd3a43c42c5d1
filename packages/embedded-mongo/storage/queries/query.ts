/** Runs a plan: returns records in order, each checked by the matcher. */
import type { Document } from 'bson'
import { compileFilter, type DocumentTest } from '../../language/filters/matcher.ts'
import { createSorter, parseSort, type SortPart } from '../../language/results/sort.ts'
import { decode, rootFieldOf } from '../../values/bson-values.ts'
import type { Collation } from '../../values/compare.ts'
import { fail } from '../../values/errors.ts'
import { collationOf } from '../../values/options/collation.ts'
import { keepFields } from '../../values/raw-documents.ts'
import { CommandTimer, PAUSE, type Step, sortInSteps } from '../../values/steps.ts'
import type { Collection } from '../collections/catalog.ts'
import { IdSet } from '../collections/id-set.ts'
import { checkNotDropped, type Index } from '../collections/indexes.ts'
import {
  type MatchedRecord,
  readRecord,
  recordIdOf,
  type StoredRecord,
  scanIndex,
  scanRecords,
} from '../collections/records.ts'
import { countTallied, isTallied } from '../collections/tallies.ts'
import type { Entry, View, Visitor } from '../disk/overlay.ts'
import { rootFieldsOf } from './index-conditions.ts'
import { mergeRanges, ZERO } from './merge.ts'
import { choosePlan, type Plan } from './planner.ts'

export interface Query {
  filter: Document
  sort?: unknown
  skip?: number
  /** 0: no limit. */
  limit?: number
  collation?: unknown
  hint?: unknown
  variables?: Document | undefined
  /** Limits the memory of a sort in memory. */
  limitsSortMemory?: boolean
  /** Where to pause and when to give up; by default the search has its own timer. */
  timer?: CommandTimer
}

export interface PreparedQuery {
  plan: Plan
  test: DocumentTest
  sort: SortPart[]
  collation: Collation | undefined
  /** The fields that the filter and the sort need; undefined: all. */
  neededFields: Buffer[] | undefined
}

/** The numbers of keys and documents examined, for explain. */
export interface ExaminedCounts {
  keys: number
  documents: number
}

const NO_COLLECTION = { options: {}, indexes: [] }

export const prepareQuery = (
  collection: Pick<Collection, 'options' | 'indexes'>,
  query: Query,
): PreparedQuery => {
  const collation = collationOf(query.collation ?? collection.options.collation)
  const sort = parseSort(query.sort)
  const test = compileFilter(query.filter, { collation, variables: query.variables })
  const natural = sort.length === 1 && sort[0]?.field === '$natural' ? sort[0] : undefined
  const hint = natural ? { $natural: natural.descending ? -1 : 1 } : query.hint
  const inOrder = natural ? [] : sort
  const plan = choosePlan(collection, { filter: query.filter, sort: inOrder, collation, hint })
  const fields = neededFields(query.filter, plan.ordered ? [] : inOrder)
  return { plan, test, sort: inOrder, collation, neededFields: fields }
}

/** The documents that a query finds, read on condition. Without a collection, it only checks the query. */
export function* findRecords(
  view: View,
  collection: Collection | undefined,
  query: Query,
  preparedQuery = prepareQuery(collection ?? NO_COLLECTION, query),
  counts: ExaminedCounts = { keys: 0, documents: 0 },
): Iterable<Step<MatchedRecord>> {
  if (!collection) return
  const { skip = 0, limit = 0, timer = new CommandTimer() } = query
  const records = matches(view, collection, timer, preparedQuery, counts)
  const orderedMatches = preparedQuery.plan.ordered
    ? records
    : sortRecords(
        view,
        collection,
        query.limitsSortMemory ? limitSortMemory(records) : records,
        preparedQuery,
        limit && skip + limit,
        timer,
      )
  let at = 0
  for (const match of orderedMatches) {
    if (match !== PAUSE && at++ < skip) continue
    yield match
    if (match === PAUSE) continue
    if (limit && at >= skip + limit) return
  }
}

function* matches(
  view: View,
  collection: Collection,
  timer: CommandTimer,
  { plan, test, neededFields }: PreparedQuery,
  counts: ExaminedCounts,
): Iterable<Step<FoundRecord>> {
  for (const record of candidates(view, collection, plan, counts)) {
    counts.documents++
    if (timer.isSliceOver()) yield PAUSE
    const foundRecord = new FoundRecord(record, neededFields)
    if (test(foundRecord.part)) yield foundRecord
  }
}

/** The fields that a filter and a sort need: most documents have many more. */
const neededFields = (filter: Document, sort: SortPart[]): Buffer[] | undefined => {
  const roots = rootFieldsOf(filter)
  const sorting = sort.map(({ field }) => rootFieldOf(field))
  return roots && [...new Set([...roots, ...sorting])].map((name) => Buffer.from(name))
}

/** A record, decoded as far as its user needs. */
class FoundRecord implements MatchedRecord {
  readonly id: Buffer
  readonly bytes: Buffer
  readonly part: Document
  #document: Document | undefined

  constructor({ id, bytes }: StoredRecord, neededFields: Buffer[] | undefined) {
    this.id = id
    this.bytes = bytes
    if (!neededFields) this.#document = decode(bytes)
    this.part = this.#document ?? decode(keepFields(bytes, neededFields as Buffer[]))
  }

  get document(): Document {
    this.#document ??= decode(this.bytes)
    return this.#document
  }
}

function* candidates(
  view: View,
  collection: Collection,
  plan: Plan,
  counts: ExaminedCounts,
): Iterable<StoredRecord> {
  const { index, branches } = plan
  if (branches) {
    yield* withoutDuplicates(branches.map((branch) => candidates(view, collection, branch, counts)))
    return
  }
  if (!index) {
    // The index of _id exists as long as its collection.
    const idIndex = collection.indexes[0] as Index
    yield* untilDropped(idIndex, scanRecords(view, collection, plan.reverse))
    return
  }
  const isNew = index.multikey || plan.bounds.length > 1 ? createDuplicateCheck() : () => true
  for (const entry of entriesIn(view, index, plan)) {
    const id = recordIdOf(index, entry)
    counts.keys++
    if (!isNew(id)) continue
    const bytes = readRecord(view, collection, id)
    if (bytes) yield { id, bytes }
  }
}

/** The keys to read, and the order of reading. */
export type Ranges = Pick<Plan, 'bounds' | 'exact' | 'reverse' | 'merged'>

/** The entries within a plan's bounds. A record with several keys there occurs more than once. */
export const entriesIn = (view: View, index: Index, ranges: Ranges): Iterable<Entry> =>
  untilDropped(index, readRanges(view, index, ranges))

function* readRanges(
  view: View,
  index: Index,
  { bounds, exact, reverse, merged: isMerged }: Ranges,
): Iterable<Entry> {
  if (isMerged) {
    yield* mergeRanges(view, index, bounds, reverse)
    return
  }
  for (const { low, high } of reverse ? [...bounds].reverse() : bounds)
    yield* exact ? lookUp(view, low) : scanIndex(view, index, low, high, reverse)
}

/** Other commands run between two items. @throws 175 when the index has been dropped */
function* untilDropped<T>(index: Index, items: Iterable<T>): Iterable<T> {
  checkNotDropped(index)
  for (const item of items) {
    yield item
    checkNotDropped(index)
  }
}

/** The number of keys between two checks of the time. */
const KEYS_PER_STEP = 1024

/**
 * Visits the keys within a plan's bounds, for an index that is not unique. The caller must collect the
 * visitor's results at each yield: after some keys, and when the visitor has stopped.
 */
export function* visitKeys(view: View, index: Index, plan: Ranges, visitor: Visitor): Iterable<void> {
  const { bounds, reverse } = plan
  if (plan.merged) {
    let keyCount = 0
    for (const { key } of entriesIn(view, index, plan))
      if (!visitor(key, 0, key.length) || ++keyCount % KEYS_PER_STEP === 0) yield
    return yield
  }
  for (let { low, high } of reverse ? [...bounds].reverse() : bounds) {
    let last: Buffer | undefined
    do {
      checkNotDropped(index)
      last = view.visit(low, high, reverse, KEYS_PER_STEP, visitor)
      yield
      if (reverse) high = last ?? high
      else if (last) low = Buffer.concat([last, ZERO])
    } while (last)
  }
}

/**
 * The number of records of a plan whose bounds alone decide. Counting keys takes hardly any time. The keys
 * are read only if a record may have several of them.
 */
export async function countKeys(
  view: View,
  { indexes }: Pick<Collection, 'indexes'>,
  { index, bounds, leading }: Plan,
  timer: CommandTimer,
): Promise<number> {
  if (!index) return 0
  const plain = leading && !index.descending[0] && !index.collation
  const talliedIndex = indexes.find((one) => isTallied(one) && one.fields[0] === index.fields[0])
  if (index.multikey && plain && talliedIndex)
    return countTallied(
      view,
      talliedIndex,
      bounds.map(({ low }) => low),
    )
  const counts = bounds.map((one) => ({ ...one, keys: view.count(one.low, one.high) }))
  const nonEmptyBounds = counts.filter(({ keys }) => keys > 0)
  if (!index.multikey || nonEmptyBounds.length < 2)
    return nonEmptyBounds.reduce((sum, { keys }) => sum + keys, 0)
  const ids = new IdSet()
  const visitor: Visitor = (bytes, _, end) => {
    ids.add(bytes, end)
    return true
  }
  const plan = { bounds: nonEmptyBounds, reverse: false }
  for (const _ of visitKeys(view, index, plan, visitor)) if (timer.isSliceOver()) await timer.pause()
  return ids.size
}

const lookUp = (view: View, key: Buffer): Entry[] => {
  const value = view.get(key)
  return value ? [{ key, value }] : []
}

function* withoutDuplicates(sources: Iterable<StoredRecord>[]): Iterable<StoredRecord> {
  const isNew = createDuplicateCheck()
  for (const records of sources) for (const record of records) if (isNew(record.id)) yield record
}

/** Returns a function that tells whether an id is new. */
export const createDuplicateCheck = (): IdSet['add'] => {
  const ids = new IdSet()
  return (bytes, end) => ids.add(bytes, end)
}

const MAX_SORTED_BYTES = 100 * 1024 * 1024

/** @throws 292 for results that MongoDB would write to disk to sort them */
function* limitSortMemory(records: Iterable<Step<FoundRecord>>): Iterable<Step<FoundRecord>> {
  let bytes = 0
  for (const match of records) {
    if (match !== PAUSE) bytes += match.bytes.length
    if (bytes > MAX_SORTED_BYTES)
      fail(
        292,
        `Sort exceeded memory limit of ${MAX_SORTED_BYTES} bytes, but did not opt in to external sorting.`,
      )
    yield match
  }
}

/** The bytes of the documents that one sort keeps. */
const MAX_KEPT_BYTES = 2 ** 22

/**
 * Sorts ids and sort values. A few documents are kept as they matched. The others are read again when they are
 * returned, and left out if they no longer match.
 */
function* sortRecords(
  view: View,
  collection: Collection,
  records: Iterable<Step<FoundRecord>>,
  { sort, collation, test, neededFields }: PreparedQuery,
  most: number,
  timer: CommandTimer,
): Iterable<Step<MatchedRecord>> {
  const order = createSorter(sort, collation)
  const byValues = (a: Row, b: Row) => order.compare(a.values, b.values)
  let rows: Row[] = []
  let room = MAX_KEPT_BYTES
  for (const match of records) {
    if (match === PAUSE) {
      yield PAUSE
      continue
    }
    room -= match.bytes.length
    const bytes = room >= 0 ? match.bytes : undefined
    rows.push({ id: match.id, bytes, values: order.values(match.part) })
    if (most > 0 && rows.length >= 2 * most + 1000) {
      rows = (yield* sortInSteps(rows, byValues, timer)).slice(0, most)
      room = rows.reduce((left, row) => left - (row.bytes?.length ?? 0), MAX_KEPT_BYTES)
    }
  }
  for (const { id, bytes } of yield* sortInSteps(rows, byValues, timer)) {
    if (timer.isSliceOver()) yield PAUSE
    const stored = bytes ?? readRecord(view, collection, id)
    const match = stored && new FoundRecord({ id, bytes: stored }, bytes ? [] : neededFields)
    if (match && (bytes || test(match.part))) yield match
  }
}

interface Row {
  id: Buffer
  bytes: Buffer | undefined
  values: unknown[]
}

/** Runs a plan: records in order, each checked by the matcher. */
import type { Document } from 'bson'
import { compileFilter, type Predicate } from '../../language/filters/matcher.ts'
import { type SortPart, sortOrder, sortParts } from '../../language/results/sort.ts'
import { collationOf } from '../../values/collation.ts'
import type { Collation } from '../../values/compare.ts'
import { keepFields } from '../../values/raw.ts'
import { PAUSE, Pace, type Step, sortInSteps } from '../../values/steps.ts'
import { decode } from '../../values/values.ts'
import type { Collection } from '../collections/catalog.ts'
import type { Index } from '../collections/indexes.ts'
import { type Match, readRecord, type StoredRecord, scanIndex, scanRecords } from '../collections/records.ts'
import type { View } from '../disk/overlay.ts'
import { merged } from './merge.ts'
import { choosePlan, type Plan } from './planner.ts'
import { rootsOf } from './predicates.ts'

export interface Query {
  filter: Document
  sort?: unknown
  skip?: number
  /** 0: no limit. */
  limit?: number
  collation?: unknown
  hint?: unknown
  variables?: Document | undefined
  /** Where to pause and when to give up; without it the search has its own. */
  pace?: Pace
}

export interface Prepared {
  plan: Plan
  test: Predicate
  sort: SortPart[]
  collation: Collation | undefined
}

/** What was looked at, for explain. */
export interface Examined {
  keys: number
  documents: number
}

const nowhere = { options: {}, indexes: [] }

export const prepare = (collection: Pick<Collection, 'options' | 'indexes'>, query: Query): Prepared => {
  const collation = collationOf(query.collation ?? collection.options.collation)
  const sort = sortParts(query.sort)
  const test = compileFilter(query.filter, { collation, variables: query.variables })
  const natural = sort.length === 1 && sort[0]?.field === '$natural' ? sort[0] : undefined
  const hint = natural ? { $natural: natural.descending ? -1 : 1 } : query.hint
  const plan = choosePlan(collection, { filter: query.filter, sort: natural ? [] : sort, collation, hint })
  return { plan, test, sort: natural ? [] : sort, collation }
}

/** The documents a query finds, read as they are asked for; none, but a check of the query, without a collection. */
export function* find(
  view: View,
  collection: Collection | undefined,
  query: Query,
  prepared = prepare(collection ?? nowhere, query),
  examined: Examined = { keys: 0, documents: 0 },
): Iterable<Step<Match>> {
  if (!collection) return
  const { skip = 0, limit = 0, pace = new Pace() } = query
  const found = matches(
    view,
    collection,
    pace,
    { ...prepared, looksAt: looksAt(query.filter, prepared) },
    examined,
  )
  const ordered = prepared.plan.ordered
    ? found
    : inOrder(view, collection, found, prepared, limit && skip + limit, pace)
  let at = 0
  for (const match of ordered) {
    if (match !== PAUSE && at++ < skip) continue
    yield match
    if (match === PAUSE) continue
    if (limit && at >= skip + limit) return
  }
}

function* matches(
  view: View,
  collection: Collection,
  pace: Pace,
  { plan, test, looksAt }: Prepared & { looksAt: Buffer[] | undefined },
  examined: Examined,
): Iterable<Step<Found>> {
  for (const record of candidates(view, collection, plan, examined)) {
    examined.documents++
    if (pace.due()) yield PAUSE
    const found = new Found(record, looksAt)
    if (test(found.part)) yield found
  }
}

/** The fields that a filter and a sort need to know: most documents have many more. */
const looksAt = (filter: Document, { plan, sort }: Prepared): Buffer[] | undefined => {
  const roots = rootsOf(filter)
  const sorting = plan.ordered ? [] : sort.map(({ field }) => field.split('.', 1)[0] as string)
  return roots && [...new Set([...roots, ...sorting])].map((name) => Buffer.from(name))
}

/** A record, decoded as far as somebody asks for. */
class Found implements Match {
  readonly id: Buffer
  readonly bytes: Buffer
  readonly part: Document
  #document: Document | undefined

  constructor({ id, bytes }: StoredRecord, looksAt: Buffer[] | undefined) {
    this.id = id
    this.bytes = bytes
    if (!looksAt) this.#document = decode(bytes)
    this.part = this.#document ?? decode(keepFields(bytes, looksAt as Buffer[]))
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
  examined: Examined,
): Iterable<StoredRecord> {
  const { index, branches } = plan
  if (branches) {
    yield* once(branches.map((branch) => candidates(view, collection, branch, examined)))
    return
  }
  if (!index) {
    yield* scanRecords(view, collection, plan.reverse)
    return
  }
  const seen = index.multikey || plan.bounds.length > 1 ? new Set<string>() : undefined
  for (const id of idsIn(view, index, plan)) {
    examined.keys++
    if (seen) {
      const name = id.toString('latin1')
      if (seen.has(name)) continue
      seen.add(name)
    }
    const bytes = readRecord(view, collection, id)
    if (bytes) yield { id, bytes }
  }
}

/** The ids under a plan's bounds; one that has several keys there comes more than once. */
function* idsIn(
  view: View,
  index: Index,
  { bounds, exact, reverse, merged: sideBySide }: Plan,
): Iterable<Buffer> {
  if (sideBySide) {
    yield* merged(view, index, bounds, reverse)
    return
  }
  for (const { low, high } of reverse ? [...bounds].reverse() : bounds)
    yield* exact ? lookUp(view, low) : scanIndex(view, index, low, high, reverse)
}

/**
 * How many records a plan leads to whose bounds alone decide. Keys are counted in no time; only where a record may lie
 * under several of them are they looked at.
 */
export async function countKeys(view: View, { index, bounds }: Plan, pace: Pace): Promise<number> {
  if (!index) return 0
  const counts = bounds.map((one) => ({ ...one, keys: view.count(one.low, one.high) }))
  const filled = counts.filter(({ keys }) => keys > 0)
  if (!index.multikey || filled.length < 2) return filled.reduce((sum, { keys }) => sum + keys, 0)
  const seen = new Set<string>()
  for (const { low, high } of filled)
    for (const id of scanIndex(view, index, low, high)) {
      seen.add(id.toString('latin1'))
      if (pace.due()) await pace.rest()
    }
  return seen.size
}

const lookUp = (view: View, key: Buffer): Buffer[] => {
  const id = view.get(key)
  return id ? [id] : []
}

function* once(sources: Iterable<StoredRecord>[]): Iterable<StoredRecord> {
  const seen = new Set<string>()
  for (const records of sources)
    for (const record of records) {
      const name = record.id.toString('latin1')
      if (!seen.has(name)) yield record
      seen.add(name)
    }
}

/** Sorts by ids and sort values only; the documents are read again when their turn comes. */
function* inOrder(
  view: View,
  collection: Collection,
  found: Iterable<Step<Found>>,
  { sort, collation }: Prepared,
  most: number,
  pace: Pace,
): Iterable<Step<Match>> {
  const order = sortOrder(sort, collation)
  const byValues = (a: Row, b: Row) => order.compare(a.values, b.values)
  let rows: Row[] = []
  for (const match of found) {
    if (match === PAUSE) {
      yield PAUSE
      continue
    }
    rows.push({ id: match.id, values: order.values(match.part) })
    if (most > 0 && rows.length >= 2 * most + 1000)
      rows = (yield* sortInSteps(rows, byValues, pace)).slice(0, most)
  }
  for (const { id } of yield* sortInSteps(rows, byValues, pace)) {
    if (pace.due()) yield PAUSE
    const bytes = readRecord(view, collection, id)
    if (bytes) yield { id, bytes, document: decode(bytes) }
  }
}

interface Row {
  id: Buffer
  values: unknown[]
}

/** Runs a plan: records in order, each checked by the matcher. */
import type { Document } from 'bson'
import { compileFilter, type Predicate } from '../../language/filters/matcher.ts'
import { type SortPart, sortOrder, sortParts } from '../../language/results/sort.ts'
import { collationOf } from '../../values/collation.ts'
import type { Collation } from '../../values/compare.ts'
import { PAUSE, Pace, type Step, sortInSteps } from '../../values/steps.ts'
import { decode } from '../../values/values.ts'
import type { Collection } from '../collections/catalog.ts'
import { type Match, readRecord, type StoredRecord, scanIndex, scanRecords } from '../collections/records.ts'
import type { View } from '../disk/overlay.ts'
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
  const found = matches(view, collection, pace, prepared, examined)
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
  { plan, test }: Prepared,
  examined: Examined,
): Iterable<Step<Match>> {
  for (const record of candidates(view, collection, plan, examined)) {
    examined.documents++
    if (pace.due()) yield PAUSE
    const document = decode(record.bytes)
    if (test(document)) yield { ...record, document }
  }
}

function* candidates(
  view: View,
  collection: Collection,
  plan: Plan,
  examined: Examined,
): Iterable<StoredRecord> {
  const { index, bounds, exact, reverse, branches } = plan
  if (branches) {
    yield* once(branches.map((branch) => candidates(view, collection, branch, examined)))
    return
  }
  if (!index) {
    yield* scanRecords(view, collection, reverse)
    return
  }
  const seen = index.multikey || bounds.length > 1 ? new Set<string>() : undefined
  for (const [low, high] of reverse ? [...bounds].reverse() : bounds) {
    for (const id of exact ? lookUp(view, low) : scanIndex(view, index, low, high, reverse)) {
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
  found: Iterable<Step<Match>>,
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
    const { id, document } = match
    rows.push({ id, values: order.values(document) })
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

import type { Db } from 'mongodb'
import { COMPOSITION_INDEX_KEYS, Composition } from '../../../../records/compositions/composition-record.ts'
import { documentCollection } from '../../../../records/store/documents/database.ts'
import { type FactRange, shortKey, structurePlace } from '../../../compositions/facts.ts'
import type { QueryTree } from '../../language/ast.ts'
import { allOf, type DatabaseFilter, requiresField } from '../../plan/database-filters.ts'
import type { QueryOrder } from '../../plan/planner.ts'
import { START_PLACE } from '../../plan/query-places.ts'
import { type CompositionSearch, countCompositions } from '../../scan/composition-scan.ts'
import { ExampleEvaluation } from '../examples.ts'
import type { Structures } from '../structures.ts'
import { FactOrderStream, FieldOrderStream, MAX_TIME_MS, type OrderedStream } from './ordered-streams.ts'

/** The most EHRs whose compositions an engine merges in their common order. */
const MAX_MERGED_EHRS = 1_000

interface OrderedSearch {
  db: Db
  query: QueryTree
  order: QueryOrder
  /** The search that finds all compositions, in any order. */
  search: CompositionSearch
  /** The EHRs to search; undefined: all. */
  ehrIds: readonly string[] | undefined
  /** The structures of the archetype; undefined: they do not help. */
  structures: Structures | undefined
  /** The number of rows that are needed. */
  neededCount: number
}

/**
 * The compositions of a query in the order of a place, and those in which the place may be empty.
 * @returns undefined if reading all of them takes less
 */
export async function openCompositionStreams(
  orderedSearch: OrderedSearch,
): Promise<OrderedStream[] | undefined> {
  const { order, ehrIds } = orderedSearch
  if ((ehrIds?.length ?? 0) > MAX_MERGED_EHRS) return undefined
  if (order.place === START_PLACE) return openByStart(orderedSearch)
  if (ehrIds && order.type !== 'time') return undefined
  const narrower = requiresField(orderedSearch.search.filter, 'facts')
    ? await isSelective(orderedSearch)
    : false
  return narrower ? undefined : openByFact(orderedSearch)
}

/** Fewer compositions than this are all read at once. */
const MAX_READ_AT_ONCE = 500

/** Whether another condition of WHERE leaves few compositions. */
async function isSelective({ db, search }: OrderedSearch): Promise<boolean> {
  return (await countCompositions(db, search, MAX_READ_AT_ONCE)) < MAX_READ_AT_ONCE
}

function openByFact(orderedSearch: OrderedSearch): OrderedStream[] {
  const { db, order, search, ehrIds, neededCount } = orderedSearch
  const { place, archetypeId, descending } = order
  const { filter } = search
  const field = ehrIds ? 'times' : 'facts'
  const range = ehrIds ? rangeOfEnds(order) : order.range
  const valueStream = new FactOrderStream(db, {
    filter,
    field,
    place,
    archetypeId,
    range,
    descending,
    neededCount,
  })
  const empty = order.isRequired ? undefined : emptyFilter(orderedSearch)
  if (!empty) return [valueStream]
  const index = empty === filter ? search.index : 'facts'
  return [valueStream, openUnordered(orderedSearch, { index, filter: empty })]
}

/** Only the first and the last event of a composition are known, and one between them may be in the range. */
const rangeOfEnds = ({ range: { $gte, $lte }, descending }: QueryOrder): FactRange =>
  descending ? { ...($gte !== undefined && { $gte }) } : { ...($lte !== undefined && { $lte }) }

/** The filter for compositions in which some row has no value at the place; undefined: there are none. */
function emptyFilter({ query, order, search, structures }: OrderedSearch): DatabaseFilter | undefined {
  const { archetypeId = '' } = order
  const examples = new ExampleEvaluation(order.node, order.path, query)
  if (!examples.isDecided || !structures) return search.filter
  const empty = [...structures].flatMap(([key, example]) =>
    examples.keysOf(example).includes(undefined) ? [key] : [],
  )
  if (empty.length === 0) return undefined
  // Each structure counts once in a composition, as the one without a number.
  const element = { k: shortKey(structurePlace(archetypeId)), v: { $in: empty }, i: null }
  return { $and: [search.filter, { facts: { $elemMatch: element } }] }
}

const openUnordered = ({ db, neededCount }: OrderedSearch, { index, filter }: CompositionSearch) =>
  new FieldOrderStream(db, {
    collection: Composition.collection,
    filter,
    field: undefined,
    isEmpty: true,
    descending: false,
    neededCount,
    hint: index === '_id' ? '_id_' : COMPOSITION_INDEX_KEYS[index],
  })

async function openByStart(orderedSearch: OrderedSearch): Promise<OrderedStream[] | undefined> {
  const { db, order, search, ehrIds, neededCount } = orderedSearch
  const { range, descending, isRequired } = order
  const isOfArchetype = requiresField(search.filter, 'archetypes')
  const index = ehrIds ? (isOfArchetype ? 'archetypes' : 'list_ofEhr') : 'start'
  if (index === 'start' && isOfArchetype && !(await isFrequent(orderedSearch))) return undefined
  const start = { $gte: range.$gte ?? -MAX_TIME_MS, ...(range.$lte !== undefined && { $lte: range.$lte }) }
  const filter = allOf([search.filter, { start }]) as DatabaseFilter
  const valueStream = new FieldOrderStream(db, {
    collection: Composition.collection,
    filter,
    field: 'start',
    isEmpty: false,
    descending,
    neededCount,
    hint: COMPOSITION_INDEX_KEYS[index],
  })
  if (isRequired) return [valueStream]
  const empty = allOf([search.filter, { start: null }]) as DatabaseFilter
  return [valueStream, openUnordered(orderedSearch, { index, filter: empty })]
}

/** The time to find a composition by its start, in relation to reading it. */
const SKIP_COST = 0.1

/** Whether enough compositions have the archetype that a page in the order of all starts takes less. */
async function isFrequent({ db, search, neededCount }: OrderedSearch): Promise<boolean> {
  const [totalCount, foundCount] = await Promise.all([
    documentCollection({ db }, Composition.collection).estimatedDocumentCount(),
    countCompositions(db, search),
  ])
  return foundCount > 0 && neededCount * (1 + (totalCount / foundCount) * SKIP_COST) < foundCount
}

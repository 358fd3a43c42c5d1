import type { TimeSlice } from '../../../../records/limits/time-slice.ts'
import type { ParseDocument } from '../../../../records/store/documents/parse-format.ts'
import type { CompositionView } from '../../../composition-views/composition-view.ts'
import type { Evaluation } from '../../evaluation/evaluation.ts'
import type { QueryTree } from '../../language/ast.ts'
import type { QueryOrder } from '../../plan/planner.ts'
import { START_PLACE } from '../../plan/query-places.ts'
import { collectRows } from '../../results/evaluate-rows.ts'
import type { ResultRow, RowCollector } from '../../results/row.ts'
import { planCompositionSearch, readVersionsOf } from '../../scan/composition-scan.ts'
import { type ScanOptions, scanSingleDocuments } from '../../scan/ehr-tree-scan.ts'
import { type ScannedRecord, scanVersions } from '../../scan/version-scan.ts'
import { planViewSearches } from '../../scan/view-scan.ts'
import { compareSortKeys } from '../../terms/terms.ts'
import type { KnownStructures, Structures } from '../structures.ts'
import { openCompositionStreams } from './composition-streams.ts'
import type { OrderedStream } from './ordered-streams.ts'
import { openViewStreams } from './view-streams.ts'

interface OrderedEvaluation {
  reading: ScanOptions
  query: QueryTree
  order: QueryOrder
  structures: KnownStructures
  evaluation: Evaluation
  collector: RowCollector
  timeSlice: TimeSlice
  /** The number of rows that are needed. */
  neededCount: number
}

/** A stream, and how its records become documents. */
interface Source {
  stream: OrderedStream
  read(records: readonly ParseDocument[]): AsyncGenerator<ScannedRecord[]>
  /** The ids of the records of this collection that have been evaluated. */
  evaluatedIds: Set<string>
  /** The rank of the last record. Rows with equal values are in the order of their stream, and of the streams. */
  rank: number
}

/**
 * Evaluates records in the order of the first expression of ORDER BY, and stops when no other record can
 * change the result.
 * @returns undefined if evaluating all records takes less
 */
export async function evaluateInOrder(
  orderedEvaluation: OrderedEvaluation,
): Promise<AsyncGenerator<ResultRow[]> | undefined> {
  const { plan, ehrs } = orderedEvaluation.reading
  if (plan.statuses || !plan.compositions) return undefined
  const { archetypeId, isRequired, place } = orderedEvaluation.order
  const needsStructures = archetypeId !== undefined && !isRequired && place !== START_PLACE
  const [ids, structures] = await Promise.all([
    ehrs.ids(),
    needsStructures ? orderedEvaluation.structures.findStructures(archetypeId) : undefined,
  ])
  if (ids?.length === 0) return undefined
  const sources = await openSources(orderedEvaluation, ids, structures)
  return sources && evaluateSources(orderedEvaluation, sources)
}

async function openSources(
  { reading, query, order, neededCount }: OrderedEvaluation,
  ehrIds: readonly string[] | undefined,
  structures: Structures | undefined,
): Promise<Source[] | undefined> {
  const { db, plan, caller } = reading
  const search = planCompositionSearch(plan, caller, ehrIds)
  const streams = await openCompositionStreams({ db, query, order, search, ehrIds, structures, neededCount })
  if (!streams) return undefined
  const read = (records: readonly ParseDocument[]) => readVersionsOf(db, plan, records)
  const evaluatedIds = new Set<string>()
  const isOfEhrs = ehrIds !== undefined
  const viewSources = planViewSearches(reading, ehrIds).flatMap((one) => {
    const viewReading = { read: viewReader(reading, one.view), evaluatedIds: new Set<string>() }
    return openViewStreams({ db, order, search: one, isOfEhrs, neededCount }).map((stream) => ({
      stream,
      ...viewReading,
    }))
  })
  const orderedSources = [...streams.map((stream) => ({ stream, read, evaluatedIds })), ...viewSources]
  return orderedSources.map((source, i) => ({ ...source, rank: i * RANKS_PER_STREAM }))
}

const viewReader =
  ({ db, plan }: ScanOptions, { kind, toComposition }: CompositionView): Source['read'] =>
  (documents) =>
    scanVersions(db, plan, {
      collection: kind.collection,
      currentDocuments: documents,
      objectOf: toComposition,
    })

const RANKS_PER_STREAM = 2 ** 40

async function* evaluateSources(
  orderedEvaluation: OrderedEvaluation,
  sources: readonly Source[],
): AsyncGenerator<ResultRow[]> {
  const { order, collector } = orderedEvaluation
  try {
    const open = await evaluateFirst(orderedEvaluation, sources)
    while (open.length > 0) {
      const source = furthestBehind(open, order.descending)
      if (collector.isSettled(source.stream.bound)) break
      const records = await source.stream.next()
      if (records) await evaluateRecords(orderedEvaluation, source, records)
      else open.splice(open.indexOf(source), 1)
    }
    yield collector.end()
  } finally {
    await Promise.all(sources.map(({ stream }) => stream.close()))
  }
}

/**
 * Evaluates the first records of each stream that has values, read side by side, since each is needed.
 * @returns the streams that may have more
 */
async function evaluateFirst(
  orderedEvaluation: OrderedEvaluation,
  sources: readonly Source[],
): Promise<Source[]> {
  const valueSources = sources.filter(({ stream }) => stream.bound !== undefined)
  const first = await Promise.all(valueSources.map(({ stream }) => stream.next()))
  const endedSources = valueSources.filter((_, i) => first[i] === undefined)
  for (const [i, source] of valueSources.entries())
    await evaluateRecords(orderedEvaluation, source, first[i] ?? [])
  return sources.filter((source) => !endedSources.includes(source))
}

async function evaluateRecords(
  { reading, evaluation, collector, timeSlice }: OrderedEvaluation,
  source: Source,
  records: readonly ParseDocument[],
): Promise<void> {
  const withheldIds = await reading.ehrs.withheldIds()
  const fresh = records.filter(({ _id }) => !source.evaluatedIds.has(_id) && source.evaluatedIds.add(_id))
  for await (const tree of scanSingleDocuments(reading, source.read(fresh))) {
    source.rank++
    if (withheldIds.has(tree.ehrId)) continue
    if (timeSlice.isOver()) await timeSlice.yieldToOthers()
    for (const _ of collectRows({ tree, evaluation, collector, rank: source.rank }))
      if (timeSlice.isOver()) await timeSlice.yieldToOthers()
  }
}

/** The stream whose records still to come may sort before those of all others. */
const furthestBehind = (open: readonly Source[], descending: boolean): Source =>
  open.reduce((one, other) => {
    const order = compareSortKeys(other.stream.bound, one.stream.bound) * (descending ? -1 : 1)
    return order < 0 ? other : one
  })

/** Finds that are answered from index keys alone (covered queries). */
import { plainFields } from '../../../language/results/projection.ts'
import { decode } from '../../../values/bson-values.ts'
import type { Run } from '../../../values/raw-documents.ts'
import { CommandTimer, PAUSE, type Step } from '../../../values/steps.ts'
import type { Collection } from '../../collections/catalog.ts'
import { containsValues, type Index } from '../../collections/indexes.ts'
import { KeyReader } from '../../collections/keys/key-reader.ts'
import { idAtEnd, type MatchedRecord, readRecord } from '../../collections/records.ts'
import type { View, Visitor } from '../../disk/overlay.ts'
import { MAX_UNCUT_BYTES } from '../bounds.ts'
import type { Plan } from '../planner.ts'
import { createDuplicateCheck, type ExaminedCounts, type Query, visitKeys } from '../query.ts'

/** Builds a reader that makes documents from a plan's keys; undefined: the keys do not suffice. */
export const createCoveringReader = (plan: Plan, projection: unknown): KeyReader | undefined => {
  const { index, covered, ordered, ambiguous = [] } = plan
  // A unique index stores its record ids beside the keys.
  if (!index || index.unique || !covered || !ordered || ambiguous.length > 0) return undefined
  const fields = plainFields(projection)
  const places = fields?.map(({ from }) => index.fields.indexOf(from)) ?? []
  if (!fields || !places.every((at) => at >= 0 && containsValues(index, at))) return undefined
  // Renamed fields appear in the order of the projection.
  const inOrder = places.every((at, i) => i === 0 || at > (places[i - 1] as number))
  if (!inOrder && fields.some(({ name, from }) => name !== from)) return undefined
  const parts = index.fields.slice(0, Math.max(...places) + 1)
  return new KeyReader(
    parts.map((_, at) => ({
      name: fields[places.indexOf(at)]?.name,
      descending: index.descending[at] === true,
    })),
  )
}

/**
 * The rows of a covered find.
 * @param rowOf the row of a document whose key is ambiguous; undefined: no row
 */
export function* readCoveredRows(
  view: View,
  collection: Collection,
  { skip = 0, limit = 0, timer = new CommandTimer() }: Query,
  {
    plan,
    reader,
    rowOf,
  }: { plan: Plan; reader: KeyReader; rowOf(record: MatchedRecord): Buffer | undefined },
  counts: ExaminedCounts = { keys: 0, documents: 0 },
): Iterable<Step<Run>> {
  const index = plan.index as Index
  const [first] = plan.bounds
  if (first && plan.bounds.length === 1 && first.prefixLength < MAX_UNCUT_BYTES)
    reader.expect(first.low.subarray(0, first.prefixLength))
  const isNew = index.multikey && plan.bounds.length > 1 ? createDuplicateCheck() : undefined
  const most = limit ? skip + limit : Number.POSITIVE_INFINITY
  let rowCount = 0
  let ambiguousId: Buffer | undefined
  /** Between two steps, a write may have put a value into the index that its key does not give back. */
  const isReadable = () => reader.components.every((at) => containsValues(index, at))
  let readable = isReadable()
  const visitor: Visitor = (bytes, start, end) => {
    counts.keys++
    if (isNew && !isNew(bytes, end)) return true
    if (!readable || !reader.append(bytes, start))
      ambiguousId = idAtEnd(Buffer.from(bytes.subarray(start, end)))
    else if (++rowCount <= skip) reader.undo()
    return ambiguousId === undefined && rowCount < most
  }
  for (const _ of visitKeys(view, index, plan, visitor)) {
    yield* reader.take()
    if (ambiguousId) {
      counts.documents++
      const row = readRow(view, collection, ambiguousId, rowOf)
      ambiguousId = undefined
      if (row && ++rowCount > skip) yield row
    }
    if (rowCount >= most) return
    if (timer.isSliceOver()) yield PAUSE
    readable = isReadable()
  }
}

const readRow = (
  view: View,
  collection: Collection,
  id: Buffer,
  rowOf: (record: MatchedRecord) => Buffer | undefined,
): Buffer | undefined => {
  const bytes = readRecord(view, collection, id)
  return bytes && rowOf({ id, bytes, document: decode(bytes) })
}

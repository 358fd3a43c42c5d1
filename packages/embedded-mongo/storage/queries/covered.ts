/** Finds that an index answers alone: all that they ask for is in its keys. */
import { wholeFields } from '../../language/results/projection.ts'
import type { Run } from '../../values/raw.ts'
import { PAUSE, Pace, type Step } from '../../values/steps.ts'
import { decode } from '../../values/values.ts'
import type { Collection } from '../collections/catalog.ts'
import { type Index, tellsValues } from '../collections/indexes.ts'
import { KeyReader } from '../collections/key-reader.ts'
import { idIn, type Match, readRecord } from '../collections/records.ts'
import type { View } from '../disk/overlay.ts'
import type { Plan } from './planner.ts'
import { type Examined, keysIn, onlyOnce, type Query } from './query.ts'

/** How many keys are read at a time. */
const STRIDE = 64

/** What makes the documents of a plan's keys; undefined: the keys do not suffice. */
export const coverOf = (plan: Plan, projection: unknown): KeyReader | undefined => {
  const { index, covered, ordered, doubtful = [] } = plan
  // A unique index knows its records by what it holds beside the keys.
  if (!index || index.unique || !covered || !ordered || doubtful.length > 0) return undefined
  const asked = wholeFields(projection)
  const places = asked?.names.map((name) => index.fields.indexOf(name)) ?? []
  if (!asked || asked.dropped || !places.every((at) => at >= 0 && tellsValues(index, at))) return undefined
  const parts = index.fields.slice(0, Math.max(...places) + 1)
  return new KeyReader(
    parts.map((name, at) => ({
      name: places.includes(at) ? name : undefined,
      descending: index.descending[at] === true,
    })),
  )
}

/**
 * What a find answers from keys.
 * @param whole what it answers of a document whose key does not tell; undefined: nothing
 */
export function* coveredRows(
  view: View,
  collection: Collection,
  { skip = 0, limit = 0, pace = new Pace() }: Query,
  { plan, reader, whole }: { plan: Plan; reader: KeyReader; whole(record: Match): Buffer | undefined },
  examined: Examined = { keys: 0, documents: 0 },
): Iterable<Step<Run>> {
  const index = plan.index as Index
  const isNew = index.multikey && plan.bounds.length > 1 ? onlyOnce() : undefined
  const most = limit ? skip + limit : Number.POSITIVE_INFINITY
  let found = 0
  for (const key of keysIn(view, index, plan)) {
    if (++examined.keys % STRIDE === 0) {
      yield* reader.take()
      if (pace.due()) yield PAUSE
    }
    if (isNew && !isNew(idIn(key))) continue
    if (reader.append(key)) {
      if (++found <= skip) reader.undo()
    } else {
      examined.documents++
      const row = wholeOf(view, collection, idIn(key), whole)
      if (!row) continue
      yield* reader.take()
      if (++found > skip) yield row
    }
    if (found === most) break
  }
  yield* reader.take()
}

const wholeOf = (
  view: View,
  collection: Collection,
  id: Buffer,
  whole: (record: Match) => Buffer | undefined,
): Buffer | undefined => {
  const bytes = readRecord(view, collection, id)
  return bytes && whole({ id, bytes, document: decode(bytes) })
}

import type { Db } from 'mongodb'
import type { MeasurementKind } from '../../../measurements/measurement.ts'
import type { Caller } from '../../../store/documents/caller.ts'
import type { ParseDocument } from '../../../store/documents/parse-format.ts'
import { type Forest, forestOf } from '../evaluation/forest.ts'
import type { Plan } from '../planner.ts'
import { compositions, compositionsIn, records, requireRoom, searchOf } from './compositions.ts'
import { bareEhr, type EhrRead, EhrsRead } from './ehrs-read.ts'
import { measured, measuredByEhr } from './measured.ts'
import type { Found } from './versions.ts'

/** For whom what is read. */
export interface Reading {
  db: Db
  caller: Caller
  plan: Plan
  /** The measurements that are compositions, too. */
  kinds: readonly MeasurementKind[]
  /** Whether more of the EHR is asked for than its id. */
  needsEhr: boolean
}

/** What a query is evaluated on, one after the other: only what the caller may read. */
export async function* forests(reading: Reading): AsyncGenerator<Forest> {
  const { db, caller, plan } = reading
  const ehrs = new EhrsRead(db, caller, plan)
  const withheld = await ehrs.withheld()
  for await (const forest of allForests(reading, ehrs)) if (!withheld.has(forest.ehrId)) yield forest
}

async function* allForests(reading: Reading, ehrs: EhrsRead): AsyncGenerator<Forest> {
  const { db, caller, plan } = reading
  if (plan.unit === 'ehr') {
    for await (const batch of ehrs.batches()) yield* wholeEhrs(reading, batch)
    return
  }
  if (plan.statuses)
    for await (const batch of ehrs.batches())
      for (const { id, object, statuses } of batch)
        for (const status of statuses) yield forestOf(object, id, [status])
  if (!plan.compositions) return
  const ids = await ehrs.ids()
  if (ids?.length === 0) return
  yield* singles(reading, ehrs, compositions(db, plan, searchOf(plan, caller, ids)))
  yield* singles(reading, ehrs, measured(reading, ids))
}

/** Each composition by itself. */
async function* singles(
  { needsEhr }: Reading,
  ehrs: EhrsRead,
  batches: AsyncGenerator<Found[]>,
): AsyncGenerator<Forest> {
  for await (const batch of batches) {
    const known = needsEhr ? await ehrs.of([...new Set(batch.map(({ ehrId }) => ehrId))]) : undefined
    for (const { ehrId, documents } of batch) {
      const object = known ? known.get(ehrId)?.object : bareEhr(ehrId)
      if (object === undefined) continue
      for (const document of documents()) yield forestOf(object, ehrId, [document])
    }
  }
}

/** Each EHR with all that may matter of it. */
async function* wholeEhrs(reading: Reading, batch: readonly EhrRead[]): AsyncGenerator<Forest> {
  const { db, caller, plan } = reading
  const ids = batch.map(({ id }) => id)
  const found = plan.compositions ? records(db, searchOf(plan, caller, ids)) : none()
  const ofMeasurements = plan.compositions ? await measuredByEhr(reading, ids) : new Map()
  const groups = byEhr(found)
  let next = await groups.next()
  for (const { id, object, statuses } of batch) {
    const documents = [...statuses, ...(ofMeasurements.get(id) ?? [])]
    if (!next.done && next.value.ehrId === id) {
      for await (const some of compositionsIn(db, plan, next.value.records))
        documents.push(...some.flatMap((one) => one.documents()))
      next = await groups.next()
    }
    yield forestOf(object, id, documents)
  }
}

async function* none(): AsyncGenerator<ParseDocument[]> {}

/** Records that come one EHR after the other, those of an EHR together. */
async function* byEhr(
  batches: AsyncGenerator<ParseDocument[]>,
): AsyncGenerator<{ ehrId: string; records: ParseDocument[] }> {
  let held: ParseDocument[] = []
  for await (const batch of batches)
    for (const record of batch) {
      const [first] = held
      if (first && first.ehrId !== record.ehrId) {
        yield { ehrId: String(first.ehrId), records: held }
        held = []
      }
      held.push(record)
      if (held.length % 100 === 0) requireRoom(held)
    }
  const [first] = held
  if (first) yield { ehrId: String(first.ehrId), records: held }
}

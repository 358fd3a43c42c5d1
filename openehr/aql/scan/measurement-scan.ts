import type { Db } from 'mongodb'
import {
  MANUALLY_ENTERED_AT_INDEX,
  MANUALLY_ENTERED_INDEX,
  manuallyEnteredIndexNameOf,
} from '../../../records/measurements/compositions/composition-membership.ts'
import type { MeasurementKind } from '../../../records/measurements/measurement.ts'
import { type Caller, permissionFilter } from '../../../records/store/documents/caller.ts'
import { documentCollection } from '../../../records/store/documents/database.ts'
import type { ParseDocument } from '../../../records/store/documents/parse-format.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import { type FactRange, factPlace } from '../../compositions/facts.ts'
import { observationArchetypeOf } from '../../measurement-mapping/observation-archetypes.ts'
import { compositionHead, toComposition } from '../../measurement-mapping/to-composition.ts'
import type { DocumentVersion } from '../evaluation/ehr-tree.ts'
import { type DatabaseFilter, requiresField, translateFilter } from '../plan/database-filters.ts'
import type { QueryPlan } from '../plan/planner.ts'
import { START_PLACE } from '../plan/query-places.ts'
import { AQL_TIMEOUT_MS } from '../timeout.ts'
import { areMany, MAX_COUNTED } from './composition-scan.ts'
import { type ScannedRecord, scanVersions } from './version-scan.ts'

/** Number of measurements in one batch. */
const MEASUREMENTS_PER_BATCH = 200

interface MeasurementScanOptions {
  db: Db
  caller: Caller
  plan: QueryPlan
  kinds: readonly MeasurementKind[]
}

/** A search for measurements of one kind: index and filter. */
export interface MeasurementSearch {
  kind: MeasurementKind
  index: string
  filter: DatabaseFilter
}

type EhrIds = readonly string[] | undefined

/** The searches for the kinds that the plan can let in. */
export const planMeasurementSearches = (
  { caller, plan, kinds }: Omit<MeasurementScanOptions, 'db'>,
  ehrIds: EhrIds,
): MeasurementSearch[] =>
  kinds.flatMap((kind) => {
    const candidates = plan.compositions && toMeasurementFilter(plan, kind)
    if (candidates === false) return []
    const of = ehrIds && { ehrId: { $in: [...ehrIds] } }
    const parts = [of, candidates === true ? undefined : candidates, permissionFilter('_rperm', caller)]
    // Measurements from compositions are read with their compositions.
    const filter = { $and: [{ compositionId: null }, ...parts.filter((part) => part !== undefined)] }
    return [{ kind, filter, index: areMany(ehrIds) ? chooseIndex(kind, filter) : MANUALLY_ENTERED_INDEX }]
  })

function chooseIndex({ series }: MeasurementKind, filter: DatabaseFilter): string {
  const value = Object.values(series).find(({ field }) => requiresField(filter, field))
  if (value) return manuallyEnteredIndexNameOf(value.field)
  return requiresField(filter, TIME_FIELD) ? MANUALLY_ENTERED_AT_INDEX : MANUALLY_ENTERED_INDEX
}

/** The field with the time of a measurement. */
export const TIME_FIELD = 'timestamp'

/** The record fields by their places in the composition that `toComposition` builds. */
export function fieldsByPlace(kind: MeasurementKind): Readonly<Record<string, string>> {
  const { archetype, items } = observationArchetypeOf(kind)
  const values = Object.values(kind.series).map(({ field }, i) => [
    factPlace(archetype, 'data/events/data/items', items[i]),
    field,
  ])
  return {
    ...Object.fromEntries(values),
    [factPlace(archetype, 'data/events/time')]: TIME_FIELD,
    [START_PLACE]: TIME_FIELD,
  }
}

/** Translates a plan's filters on compositions to the records of a kind; false: none can match. */
function toMeasurementFilter(
  { candidates = {}, facts = {} }: QueryPlan,
  kind: MeasurementKind,
): DatabaseFilter | boolean {
  const known: Readonly<Record<string, string | readonly string[]>> = compositionHead(kind)
  const fields = fieldsByPlace(kind)
  return translateFilter({ $and: [candidates, facts] }, (name, condition) => {
    const [field, values] = [fields[name], known[name]]
    if (field === TIME_FIELD) return { [TIME_FIELD]: toDateRange(condition as FactRange) }
    if (field !== undefined) return { [field]: condition }
    if (values === undefined) return isRecordField(name) && { [name]: condition }
    const wanted = typeof condition === 'string' ? [condition] : (condition as { $in: string[] }).$in
    return wanted.some((one) => [values].flat().includes(one))
  })
}

/** A condition on any other place never holds for this kind. */
const isRecordField = (name: string): boolean => name === '_id' || name === 'ehrId'

export const toDateRange = (range: FactRange) =>
  Object.fromEntries(Object.entries(range).map(([end, at]: [string, number]) => [end, new Date(at)]))

const findMeasurements = (db: Db, { kind, filter, index }: MeasurementSearch) => {
  const documents = documentCollection({ db }, kind.collection)
    .find(filter, { maxTimeMS: AQL_TIMEOUT_MS, batchSize: MEASUREMENTS_PER_BATCH })
    .hint(index)
  return index === MANUALLY_ENTERED_INDEX ? documents.sort({ ehrId: 1, timestamp: -1, _id: -1 }) : documents
}

export const countMeasurements = (db: Db, { kind, filter, index }: MeasurementSearch): Promise<number> =>
  documentCollection({ db }, kind.collection).countDocuments(filter, {
    ...{ maxTimeMS: AQL_TIMEOUT_MS, limit: MAX_COUNTED, hint: index },
  })

/**
 * Reads measurements as compositions, kind by kind: in the order of an index on values or time, otherwise by
 * EHR.
 */
export async function* scanMeasurements(
  reading: MeasurementScanOptions,
  ehrIds: EhrIds,
): AsyncGenerator<ScannedRecord[]> {
  const { db, plan } = reading
  for (const search of planMeasurementSearches(reading, ehrIds)) {
    const measurements = findMeasurements(db, search)
    const { kind } = search
    const objectOf = (version: ParseDocument) => toComposition(kind, version)
    let of: ParseDocument[] = []
    try {
      for await (const record of measurements) {
        if (of.push(record) < MEASUREMENTS_PER_BATCH) continue
        yield* scanVersions(db, plan, { collection: kind.collection, of, objectOf })
        of = []
      }
      yield* scanVersions(db, plan, { collection: kind.collection, of, objectOf })
    } finally {
      await measurements.close()
    }
  }
}

/** Limit for measurements in memory, when whole EHRs are evaluated. */
const MAX_MEASUREMENTS_IN_MEMORY = 20_000

/** The measurements of some EHRs, by EHR. @throws DeadlineExceeded when they exceed the limit */
export async function scanMeasurementsByEhr(
  ...args: Parameters<typeof scanMeasurements>
): Promise<Map<string, DocumentVersion[]>> {
  const versionsByEhr = new Map<string, DocumentVersion[]>()
  let count = 0
  for await (const batch of scanMeasurements(...args))
    for (const one of batch) {
      const documents = one.documents()
      count += documents.length
      if (count > MAX_MEASUREMENTS_IN_MEMORY)
        throw new ServiceError('DeadlineExceeded', {
          detail: 'The query combines too many measurements. Name their archetypes in FROM.',
        })
      const known = versionsByEhr.get(one.ehrId)
      if (known) known.push(...documents)
      else versionsByEhr.set(one.ehrId, documents)
    }
  return versionsByEhr
}

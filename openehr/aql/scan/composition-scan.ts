import type { Db } from 'mongodb'
import { COMPOSITION_INDEX_KEYS, Composition } from '../../../records/compositions/composition-record.ts'
import { type Caller, permissionFilter } from '../../../records/store/documents/caller.ts'
import { documentCollection } from '../../../records/store/documents/database.ts'
import type { ParseDocument } from '../../../records/store/documents/parse-format.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import { toRmObject } from '../../compositions/composition-json.ts'
import { type FactRange, factRangeFilter } from '../../compositions/facts.ts'
import type { RmObject } from '../../rm/canonical-json.ts'
import { type DatabaseFilter, requiresField, translateFilter } from '../plan/database-filters.ts'
import type { QueryPlan } from '../plan/planner.ts'
import { START_PLACE } from '../plan/query-places.ts'
import { AQL_TIMEOUT_MS } from '../timeout.ts'
import { type ScannedRecord, scanVersions } from './version-scan.ts'

/** A search for compositions: index and filter. */
export interface CompositionSearch {
  index: '_id' | keyof typeof COMPOSITION_INDEX_KEYS
  filter: DatabaseFilter
}

/** Fields of a composition that the evaluation does not need. */
export const UNREAD_FIELDS = { _rperm: 0, _wperm: 0, _acl: 0, facts: 0, times: 0, archetypes: 0, links: 0 }

/** From this number on, EHRs mostly have more compositions than a condition on a fact leaves. */
const MANY_EHRS_COUNT = 100

/** Whether an index on values narrows the search more than one on EHRs, because there are many EHRs. */
export const areMany = (ehrIds: readonly string[] | undefined): boolean =>
  (ehrIds?.length ?? MANY_EHRS_COUNT) >= MANY_EHRS_COUNT

/** Compositions in one batch; each may have 4 MB. */
const COMPOSITIONS_PER_BATCH = 50

/** @param ehrIds the EHRs to search; undefined: all */
export function planCompositionSearch(
  { candidates, facts }: QueryPlan,
  caller: Caller,
  ehrIds: readonly string[] | undefined,
): CompositionSearch {
  const ehrFilter = ehrIds && { ehrId: ehrIds.length === 1 ? ehrIds[0] : { $in: [...ehrIds] } }
  const factFilter = facts && (translateFilter(facts, toStoredFactFilter) as DatabaseFilter)
  const parts = [ehrFilter, candidates, factFilter, permissionFilter('_rperm', caller)].filter(
    (filter): filter is DatabaseFilter => filter !== undefined && Object.keys(filter).length > 0,
  )
  const filter = parts.length > 1 ? { $and: parts } : (parts[0] ?? {})
  if (requiresField(candidates, '_id')) return { index: '_id', filter }
  if (requiresField(factFilter, 'facts') && areMany(ehrIds)) return { index: 'facts', filter }
  if (requiresField(factFilter, 'start') && areMany(ehrIds)) return { index: 'start', filter }
  return { index: requiresField(candidates, 'archetypes') ? 'archetypes' : 'list_ofEhr', filter }
}

/** The fact filter in terms of the stored fields. */
const toStoredFactFilter = (place: string, range: unknown): DatabaseFilter =>
  place === START_PLACE ? { start: range } : { facts: factRangeFilter(place, range as FactRange) }

/**
 * Reads compositions in batches: in the order of an index on facts or start; otherwise by EHR, newest first.
 */
export async function* readCompositionBatches(
  db: Db,
  { index, filter }: CompositionSearch,
): AsyncGenerator<ParseDocument[]> {
  const options = {
    maxTimeMS: AQL_TIMEOUT_MS,
    batchSize: COMPOSITIONS_PER_BATCH,
    projection: UNREAD_FIELDS,
  }
  const documents = documentCollection({ db }, Composition.collection).find(filter, options)
  if (index !== '_id') documents.hint(COMPOSITION_INDEX_KEYS[index])
  const cursor =
    index === 'facts' || index === 'start' ? documents : documents.sort({ ehrId: 1, start: -1, _id: -1 })
  let batch: ParseDocument[] = []
  try {
    for await (const one of cursor) {
      if (batch.push(one) < COMPOSITIONS_PER_BATCH) continue
      yield batch
      batch = []
    }
    if (batch.length > 0) yield batch
  } finally {
    await cursor.close()
  }
}

/** Counting stops here. */
export const MAX_COUNTED = 100_000

export function countCompositions(
  db: Db,
  { index, filter }: CompositionSearch,
  limit = MAX_COUNTED,
): Promise<number> {
  const hint = index === '_id' ? {} : { hint: COMPOSITION_INDEX_KEYS[index] }
  const options = { maxTimeMS: AQL_TIMEOUT_MS, limit, ...hint }
  return documentCollection({ db }, Composition.collection).countDocuments(filter, options)
}

const recordToRmObject = ({ _id: id, version, json }: ParseDocument): RmObject | undefined =>
  toRmObject({ id, version, json: json as string })

/** The requested versions of composition records. */
export const readVersionsOf = (
  db: Db,
  plan: QueryPlan,
  documents: readonly ParseDocument[],
): AsyncGenerator<ScannedRecord[]> =>
  scanVersions(db, plan, {
    collection: Composition.collection,
    currentDocuments: documents,
    objectOf: recordToRmObject,
  })

export async function* scanCompositions(
  db: Db,
  plan: QueryPlan,
  search: CompositionSearch,
): AsyncGenerator<ScannedRecord[]> {
  for await (const batch of readCompositionBatches(db, search)) yield* readVersionsOf(db, plan, batch)
}

/** Limit for the compositions of one EHR in memory, as the length of their JSON. */
const MAX_EHR_JSON_LENGTH = 32 * 1024 * 1024

/** @throws DeadlineExceeded when the compositions of one EHR exceed the limit */
export function requireEhrFitsInMemory(compositions: readonly ParseDocument[]): void {
  const size = compositions.reduce((sum, { json }) => sum + String(json ?? '').length, 0)
  if (size > MAX_EHR_JSON_LENGTH)
    throw new ServiceError('DeadlineExceeded', {
      detail: 'An EHR has too many compositions for this combination. Name their archetypes in FROM.',
    })
}

import type { Filter } from 'mongodb'
import { findHiddenRecords } from '../../../records/ehrs/deletion/hidden-contents.ts'
import { findSearchedEhrs } from '../../../records/ehrs/rights/query-accesses.ts'
import type { ChangedRecord } from '../../../records/history/changes.ts'
import type { Caller } from '../../../records/store/documents/caller.ts'
import { createParseFormat, type ParseDocument } from '../../../records/store/documents/parse-format.ts'
import { toMongoFilter } from '../../../records/store/reading/filter.ts'
import { accessesByEhr } from '../../../records/store/resource.ts'
import type { HistoryKey } from '../../../records/store/writing/history.ts'
import type { StoreContext } from '../../../records/store/writing/transaction.ts'
import { combineConditions } from '../../search/search-conditions.ts'
import type { SearchCriteria } from '../../sources/resource-search.ts'
import type { RecordsOf } from '../../sources/resource-source.ts'
import type { RecordWithMetadata } from '../render.ts'
import { type MappedKind, type ResourceStream, resourceIdOf, type StreamSource } from './kind-streams.ts'
import { searchConditionsOf } from './search-streams.ts'

type Conditions = Readonly<Record<string, unknown>>

/**
 * Searches deleted records and parts: each in its history, and those that are hidden with their plan, goal, task or event.
 * @returns the ids of the resources that they were
 */
export async function searchDeletedRecords(
  { context, recordsOf, streams }: StreamSource,
  caller: Caller,
  search: SearchCriteria,
  deletedKeys: readonly ChangedRecord[],
): Promise<string[]> {
  const resourceIds: string[] = []
  const conditionsFor = searchConditionsOf(search)
  for (const stream of streams) {
    const streamKeys = deletedKeys.filter(({ collection }) => collection === stream.kind.collection)
    const where = conditionsFor(stream.parameters)
    if (!where || streamKeys.length === 0) continue
    const { store } = recordsOf(stream.kind)
    const conditions = combineConditions(where, stream.where)
    const hiddenRecords = await findHiddenRecordsOfKind(context, caller, stream.kind, streamKeys, conditions)
    for (const { id, ehrId, version } of streamKeys) {
      const key = { id, ehrId } as never
      const isFound =
        hiddenRecords.has(id) ||
        (await store.findDeleted(caller, key, conditions)) ||
        (stream.suffix !== '' && (await findDeletedPart(caller, stream, store, key, version, conditions)))
      if (isFound) resourceIds.push(resourceIdOf(stream, id))
    }
  }
  return resourceIds
}

/** Finds the version before a change that deleted a part of its record. */
async function findDeletedPart(
  caller: Caller,
  { isIn }: ResourceStream,
  store: ReturnType<RecordsOf>['store'],
  key: never,
  version: number,
  conditions: Conditions,
) {
  const currentRecord = (await store.find(caller, key)) ?? (await store.findDeleted(caller, key))
  if (!currentRecord || isIn(currentRecord as unknown as RecordWithMetadata)) return undefined
  return store.findFormerVersion(caller, currentRecord, version - 1, conditions)
}

/**
 * Finds records that are hidden because their plan, goal, task or event is deleted, and audits that.
 * @returns by id, those that the caller could read before, in EHRs that the caller can read
 */
export async function findHiddenRecordsOfKind(
  context: StoreContext,
  caller: Caller,
  { collection, schema }: MappedKind,
  keys: readonly Pick<HistoryKey, 'id'>[],
  conditions: Conditions = {},
): Promise<Map<string, RecordWithMetadata>> {
  const format = createParseFormat(schema)
  const filter = { ...toMongoFilter(format, conditions), _id: { $in: keys.map(({ id }) => id) } }
  const hiddenRecords = await findHiddenRecords(
    context.db,
    caller,
    collection,
    filter as Filter<ParseDocument>,
  )
  if (hiddenRecords.length === 0) return new Map()
  const ehrIds = [...new Set(hiddenRecords.map(({ ehrId }) => ehrId))]
  const { searched } = await findSearchedEhrs(context, caller, { ehrIds })
  const readable = hiddenRecords.filter(({ ehrId }) => searched.includes(ehrId))
  const resource = { collection, ehr: 'ehrId' } as const
  const query = { action: 'query', asked: 'deleted' } as const
  await context.audit.record(...accessesByEhr(resource, caller, query, readable))
  return new Map(readable.map(({ id, document }) => [id, format.fromStored(document) as RecordWithMetadata]))
}

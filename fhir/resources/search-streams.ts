import { isDeepStrictEqual } from 'node:util'
import type { Filter } from 'mongodb'
import type { RecordSearch } from '../../records/ehr-records/ehr-records.ts'
import { findEhrContents } from '../../records/ehr-records/nonempty-collections.ts'
import { findHiddenRecords } from '../../records/ehrs/deletion/hidden-contents.ts'
import { findSearchedEhrs } from '../../records/ehrs/rights/query-accesses.ts'
import type { FhirResource } from '../../records/fhir/mapping.ts'
import type { ChangedRecord } from '../../records/live/changes.ts'
import type { Caller } from '../../records/store/documents/caller.ts'
import { createParseFormat, type ParseDocument } from '../../records/store/documents/parse-format.ts'
import type { CursorPosition } from '../../records/store/reading/cursor.ts'
import { toMongoFilter } from '../../records/store/reading/filter.ts'
import { accessesByEhr } from '../../records/store/resource.ts'
import type { HistoryKey } from '../../records/store/writing/history.ts'
import {
  type AuditedReads,
  runAuditedReads,
  type StoreContext,
} from '../../records/store/writing/transaction.ts'
import { ifNotFound } from '../../schemas/errors.ts'
import { type RecordConditions, recordConditionsOf } from '../search/search-conditions.ts'
import {
  decodeSearchCursor,
  encodeSearchCursor,
  invalidSearchCursor,
  isTime,
} from '../search/search-cursor.ts'
import type { ResourceSearch, SearchCriteria } from '../sources/resource-search.ts'
import type { FoundResources, RecordsOf } from '../sources/resource-source.ts'
import { type MappedKind, type ResourceStream, resourceIdOf } from './kind-streams.ts'
import { isPatientCriterion, searchedEhrIds } from './patients-of-caller.ts'
import type { RecordWithMetadata } from './render.ts'

interface StreamSearch<S extends SearchCriteria> {
  streams: readonly ResourceStream[]
  recordsOf: RecordsOf
  search: S
}

/** A found resource and its place in the order. */
interface Found {
  /** The value of the sort field in milliseconds; a missing one comes before all others. */
  at: number
  id: string
  suffix: string
  resource(): FhirResource
}

type Key = Pick<Found, 'at' | 'id' | 'suffix'>
type Conditions = Readonly<Record<string, unknown>>

/** The end of a page: the records up to `after` are complete, of the next one the resources up to `within`. */
interface Position {
  after: Omit<Key, 'suffix'> | undefined
  within: Key | undefined
}

/** Searches all streams and merges what they find. */
export async function searchStreams(
  context: StoreContext,
  caller: Caller,
  { streams, recordsOf, search }: StreamSearch<ResourceSearch>,
): Promise<FoundResources> {
  const [ehrId, ...others] = await searchedEhrIds(context, caller, search.criteria)
  if (ehrId === undefined) return { resources: [], ...(search.total && { total: 0 }) }
  const position = search.after === undefined ? START : decodePosition(search.after)
  const direction = orderOf(streams[0], search) === 'asc' ? 1 : -1
  const ehrIds = [ehrId, ...others] as const
  const allReads = recordReads(streams, search)
  const collections = allReads.map(({ kind }) => kind.collection)
  const { ehrs, nonempty } = await findEhrContents(context, ehrIds, collections)
  const place = { ehrIds, ehr: ehrs.get(ehrId) }
  const found = allReads.filter(({ kind }) => nonempty.has(kind.collection))
  // A search that finds nothing is in the audit, too.
  const reads = found.length > 0 ? found : allReads.slice(0, 1)
  const pages = await runAuditedReads(context, (tx) =>
    Promise.all(reads.map((read) => readStreams(recordsOf, caller, read, place, search, position, tx))),
  )
  const compare = (a: Key, b: Key) => direction * compareKeys(a, b) || compareTexts(a.suffix, b.suffix)
  const total = pages.reduce((sum, page) => sum + (page.total ?? 0), 0)
  const { within } = position
  // What follows the last record of an incomplete page is not known yet.
  const ends = pages.flatMap(({ end }) => end ?? []).sort(compare)
  const [end] = ends
  const all = pages
    .flatMap(({ items }) => items)
    .filter((one) => within === undefined || compare(one, within) > 0)
    .sort(compare)
  const earlierItems = all.filter((one) => !end || direction * compareKeys(one, end) < 0)
  const complete = earlierItems.length > 0 ? earlierItems : all.filter((one) => end && compare(one, end) <= 0)
  const page = complete.slice(0, search.count)
  const next = nextPosition(page, complete[search.count], end, position)
  return {
    resources: page.map((one) => one.resource()),
    ...(next && search.count > 0 && { next: encodePosition(next) }),
    ...(search.total && { total }),
  }
}

/** Records of one kind that are read for one or several streams. */
interface RecordRead {
  kind: MappedKind
  streams: ResourceStream[]
  where: Conditions
}

/** The reads that a search needs. Records and their parts are read once, unless each stream is to be counted. */
function recordReads(streams: readonly ResourceStream[], search: ResourceSearch): RecordRead[] {
  const reads: RecordRead[] = []
  const conditionsFor = conditionsOf(search)
  for (const stream of streams) {
    const where = conditionsFor(stream.parameters)
    const isSame = (read: RecordRead) => read.kind === stream.kind && isDeepStrictEqual(read.where, where)
    const same = search.total ? undefined : reads.find(isSame)
    if (same) same.streams.push(stream)
    else if (where) reads.push({ kind: stream.kind, streams: [stream], where: { ...where, ...stream.where } })
  }
  return reads
}

/** The conditions of a search on records. The patients are resolved before. */
const conditionsOf = ({ criteria }: SearchCriteria): RecordConditions =>
  recordConditionsOf(criteria.filter((one) => !isPatientCriterion(one)))

/**
 * Searches deleted records and parts: each in its history, and those that are hidden with what they belong to.
 * @returns the ids of the resources that they were
 */
export async function searchDeletedRecords(
  context: StoreContext,
  caller: Caller,
  { streams, recordsOf, search }: StreamSearch<SearchCriteria>,
  deletedKeys: readonly ChangedRecord[],
): Promise<string[]> {
  const found: string[] = []
  const conditionsFor = conditionsOf(search)
  for (const stream of streams) {
    const streamKeys = deletedKeys.filter(({ collection }) => collection === stream.kind.collection)
    const where = conditionsFor(stream.parameters)
    if (!where || streamKeys.length === 0) continue
    const { store } = recordsOf(stream.kind)
    const conditions = { ...where, ...stream.where }
    const hiddenRecords = await findHiddenOf(context, caller, stream.kind, streamKeys, conditions)
    for (const { id, ehrId, version } of streamKeys) {
      const key = { id, ehrId } as never
      const isFound =
        hiddenRecords.has(id) ||
        (await store.findDeleted(caller, key, conditions)) ||
        (stream.suffix !== '' && (await findDeletedPart(caller, stream, store, key, version, conditions)))
      if (isFound) found.push(resourceIdOf(stream, id))
    }
  }
  return found
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
export async function findHiddenOf(
  context: StoreContext,
  caller: Caller,
  { collection, schema }: MappedKind,
  keys: readonly Pick<HistoryKey, 'id'>[],
  conditions: Conditions = {},
): Promise<Map<string, RecordWithMetadata>> {
  const format = createParseFormat(schema)
  const filter = { ...toMongoFilter(format, conditions), _id: { $in: keys.map(({ id }) => id) } }
  const found = await findHiddenRecords(context.db, caller, collection, filter as Filter<ParseDocument>)
  if (found.length === 0) return new Map()
  const ehrIds = [...new Set(found.map(({ ehrId }) => ehrId))]
  const { searched } = await findSearchedEhrs(context, caller, { ehrIds })
  const readable = found.filter(({ ehrId }) => searched.includes(ehrId))
  const resource = { collection, ehr: 'ehrId' } as const
  const query = { action: 'query', asked: 'deleted' } as const
  await context.audit.record(...accessesByEhr(resource, caller, query, readable))
  return new Map(readable.map(({ id, document }) => [id, format.fromStored(document) as RecordWithMetadata]))
}

/** One record tells that a page follows, one may have been shown in part, and the last one is not known to be whole. */
const LOOK_AHEAD = 3

async function readStreams(
  recordsOf: RecordsOf,
  caller: Caller,
  { kind, streams, where }: RecordRead,
  place: Pick<RecordSearch, 'ehrIds' | 'ehr'>,
  search: ResourceSearch,
  { after }: Position,
  tx: AuditedReads,
): Promise<{ items: Found[]; end: Key | undefined; total: number | undefined }> {
  const list = kind.fhir.list
  const { sort } = kind.lists[list ?? 'ofEhr'] as { sort: string }
  const page = {
    limit: search.count + LOOK_AHEAD,
    count: search.total,
    ...(search.order && { order: search.order }),
    ...(after && { after: positionOf(after) }),
  }
  const read = await recordsOf(kind)
    .search(caller, { ...place, where, list }, page, tx)
    .catch(emptyIfUnknown)
  const items = (read.items as unknown as RecordWithMetadata[]).flatMap((record) => {
    const at = record[sort] === undefined ? MISSING : Date.parse(String(record[sort]))
    const matchingStreams = streams.filter((stream) => stream.isIn(record))
    return matchingStreams.map(({ suffix, render }) => ({
      at,
      id: record.id,
      suffix,
      resource: () => render(record),
    }))
  })
  return { items, end: read.next === null ? undefined : items.at(-1), total: read.total }
}

const MISSING = Number.NEGATIVE_INFINITY

const positionOf = ({ at, id }: Omit<Key, 'suffix'>): CursorPosition => ({
  value: at === MISSING ? null : new Date(at),
  id,
})

/** A patient whom the caller may not read has no resources. The refusal is in the audit. */
export const emptyIfUnknown = ifNotFound({ items: [], next: null, total: 0 })

function orderOf(stream: ResourceStream | undefined, { order }: ResourceSearch): 'asc' | 'desc' {
  const list = stream?.kind.lists[stream.kind.fhir.list ?? 'ofEhr'] as { order: 'asc' | 'desc' } | undefined
  return order ?? list?.order ?? 'desc'
}

const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const compareKeys = (a: Omit<Key, 'suffix'>, b: Omit<Key, 'suffix'>): number =>
  a.at - b.at || compareTexts(a.id, b.id)

const START: Position = { after: undefined, within: undefined }

function nextPosition(
  page: readonly Found[],
  following: Found | undefined,
  end: Key | undefined,
  before: Position,
): Position | undefined {
  const last = page.at(-1)
  if (!last || !following) return end && { after: last ?? end, within: undefined }
  if (following.id !== last.id) return { after: last, within: undefined }
  const complete = page.findLast(({ id }) => id !== last.id)
  return { after: complete ?? before.after, within: last }
}

function encodePosition({ after, within }: Position): string {
  const inner = within ? [within.at, within.id, within.suffix] : []
  return encodeSearchCursor([after?.at ?? null, after?.id ?? '', ...inner])
}

/** @throws InvalidInput */
function decodePosition(text: string): Position {
  const [at, id, ...inner] = decodeSearchCursor(text)
  const [innerAt, innerId, suffix] = inner
  const after = at === null && id === '' ? undefined : decodeKey(at, id)
  if (inner.length === 0 && after) return { after, within: undefined }
  if (inner.length !== 3 || typeof suffix !== 'string') throw invalidSearchCursor()
  return { after, within: { ...decodeKey(innerAt, innerId), suffix } }
}

/** JSON has no infinite numbers, so that a missing value is null there. @throws InvalidInput */
function decodeKey(at: unknown, id: unknown): Omit<Key, 'suffix'> {
  if (!(at === null || isTime(at)) || typeof id !== 'string' || id === '') throw invalidSearchCursor()
  return { at: at ?? MISSING, id }
}

import { isDeepStrictEqual } from 'node:util'
import type { RecordSearch } from '../../../records/ehr-records/ehr-records.ts'
import { findEhrContents } from '../../../records/ehr-records/nonempty-collections.ts'
import type { FhirResource } from '../../../records/fhir/mapping.ts'
import type { Caller } from '../../../records/store/documents/caller.ts'
import type { CursorPosition } from '../../../records/store/reading/cursor.ts'
import { decodeCursorParts, encodeCursorParts } from '../../../records/store/reading/cursor.ts'
import { type AuditedReads, runAuditedReads } from '../../../records/store/writing/transaction.ts'
import { ifNotFound } from '../../../schemas/errors.ts'
import {
  combineConditions,
  type RecordConditions,
  recordConditionsOf,
} from '../../search/search-conditions.ts'
import { invalidSearchCursor, isTime } from '../../search/search-cursor.ts'
import type { ResourceSearch, SearchCriteria } from '../../sources/resource-search.ts'
import type { FoundResources, RecordsOf } from '../../sources/resource-source.ts'
import { isPatientCriterion, searchedEhrIds } from '../patients-of-caller.ts'
import type { RecordWithMetadata } from '../render.ts'
import type { MappedKind, ResourceStream, StreamSource } from './kind-streams.ts'

/** A found resource and its position in the order. */
interface SearchHit {
  /** The value of the sort field in milliseconds; a missing one comes before all others. */
  sortTime: number
  id: string
  suffix: string
  resource(): FhirResource
}

type Key = Pick<SearchHit, 'sortTime' | 'id' | 'suffix'>
type Conditions = Readonly<Record<string, unknown>>

/** The end of a page. */
interface Position {
  /** The last record all of whose resources are shown. */
  completeUpTo: Omit<Key, 'suffix'> | undefined
  /** The last resource of the next record, which is shown only in part. */
  partlyShown: Key | undefined
}

/** Searches all streams and merges what they find. */
export async function searchStreams(
  { context, recordsOf, streams }: StreamSource,
  caller: Caller,
  search: ResourceSearch,
): Promise<FoundResources> {
  const [ehrId, ...otherEhrIds] = await searchedEhrIds(context, caller, search.criteria)
  if (ehrId === undefined) return { resources: [], ...(search.total && { total: 0 }) }
  const position = search.after === undefined ? START : decodePosition(search.after)
  const direction = orderOf(streams[0], search) === 'asc' ? 1 : -1
  const ehrIds = [ehrId, ...otherEhrIds] as const
  const allReads = recordReads(streams, search)
  const collections = allReads.map(({ kind }) => kind.collection)
  const { ehrs, nonempty } = await findEhrContents(context, ehrIds, collections)
  const scope = { ehrIds, ehr: ehrs.get(ehrId) }
  const nonemptyReads = allReads.filter(({ kind }) => nonempty.has(kind.collection))
  // A search that finds nothing is in the audit, too.
  const reads = nonemptyReads.length > 0 ? nonemptyReads : allReads.slice(0, 1)
  const pages = await runAuditedReads(context, (tx) =>
    Promise.all(reads.map((read) => readStreams(recordsOf, caller, read, scope, search, position, tx))),
  )
  const { page, next } = mergePages(pages, { position, direction, count: search.count })
  return {
    resources: page.map((one) => one.resource()),
    ...(next && search.count > 0 && { next: encodePosition(next) }),
    ...(search.total && { total: pages.reduce((sum, { total = 0 }) => sum + total, 0) }),
  }
}

/** What a read found. */
interface StreamPage {
  hits: SearchHit[]
  /** The last position, if there is more. */
  end: Key | undefined
  total: number | undefined
}

/** Merges the pages of several reads. @returns the hits of one page, and the position of the next one */
function mergePages(
  pages: readonly StreamPage[],
  { position, direction, count }: { position: Position; direction: 1 | -1; count: number },
): { page: SearchHit[]; next: Position | undefined } {
  const compare = (a: Key, b: Key) => direction * compareKeys(a, b) || compareTexts(a.suffix, b.suffix)
  const { partlyShown } = position
  // Hits after the last record of an incomplete page are not known yet.
  const [end] = pages.flatMap((one) => one.end ?? []).sort(compare)
  const hits = pages
    .flatMap((one) => one.hits)
    .filter((one) => partlyShown === undefined || compare(one, partlyShown) > 0)
    .sort(compare)
  const earlierHits = hits.filter((one) => !end || direction * compareKeys(one, end) < 0)
  const completeHits =
    earlierHits.length > 0 ? earlierHits : hits.filter((one) => end && compare(one, end) <= 0)
  const page = completeHits.slice(0, count)
  return { page, next: nextPosition(page, completeHits[count], end, position) }
}

/** The conditions of a search on records. The patients are resolved before the search. */
export const searchConditionsOf = ({ criteria }: SearchCriteria): RecordConditions =>
  recordConditionsOf(criteria.filter((one) => !isPatientCriterion(one)))

/** Records of one kind that are read for one or several streams. */
interface RecordRead {
  kind: MappedKind
  streams: ResourceStream[]
  where: Conditions
}

/** The reads that a search needs. Records and their parts are read once, unless each stream is to be counted. */
function recordReads(streams: readonly ResourceStream[], search: ResourceSearch): RecordRead[] {
  const reads: RecordRead[] = []
  const conditionsFor = searchConditionsOf(search)
  for (const stream of streams) {
    const where = conditionsFor(stream.parameters)
    const isSame = (read: RecordRead) => read.kind === stream.kind && isDeepStrictEqual(read.where, where)
    const same = search.total ? undefined : reads.find(isSame)
    if (same) same.streams.push(stream)
    else if (where)
      reads.push({ kind: stream.kind, streams: [stream], where: combineConditions(where, stream.where) })
  }
  return reads
}

/** One record more shows that there is a next page, one may have been shown in part, and the last may be incomplete. */
const LOOK_AHEAD = 3

async function readStreams(
  recordsOf: RecordsOf,
  caller: Caller,
  { kind, streams, where }: RecordRead,
  scope: Pick<RecordSearch, 'ehrIds' | 'ehr'>,
  search: ResourceSearch,
  { completeUpTo }: Position,
  tx: AuditedReads,
): Promise<StreamPage> {
  const list = kind.fhir.list
  const { sort } = kind.lists[list ?? 'ofEhr'] as { sort: string }
  const page = {
    limit: search.count + LOOK_AHEAD,
    count: search.total,
    ...(search.order && { order: search.order }),
    ...(completeUpTo && { after: cursorPositionOf(completeUpTo) }),
  }
  const read = await recordsOf(kind)
    .search(caller, { ...scope, where, list }, page, tx)
    .catch(emptyIfUnknown)
  const hits = (read.items as unknown as RecordWithMetadata[]).flatMap((record) => {
    const sortTime = record[sort] === undefined ? MISSING : Date.parse(String(record[sort]))
    const matchingStreams = streams.filter((stream) => stream.isIn(record))
    return matchingStreams.map(({ suffix, render }) => ({
      sortTime,
      id: record.id,
      suffix,
      resource: () => render(record),
    }))
  })
  return { hits, end: read.next === null ? undefined : hits.at(-1), total: read.total }
}

const MISSING = Number.NEGATIVE_INFINITY

const cursorPositionOf = ({ sortTime, id }: Omit<Key, 'suffix'>): CursorPosition => ({
  value: sortTime === MISSING ? null : new Date(sortTime),
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
  a.sortTime - b.sortTime || compareTexts(a.id, b.id)

const START: Position = { completeUpTo: undefined, partlyShown: undefined }

function nextPosition(
  page: readonly SearchHit[],
  following: SearchHit | undefined,
  end: Key | undefined,
  before: Position,
): Position | undefined {
  const last = page.at(-1)
  if (!last || !following) return end && { completeUpTo: last ?? end, partlyShown: undefined }
  if (following.id !== last.id) return { completeUpTo: last, partlyShown: undefined }
  const complete = page.findLast(({ id }) => id !== last.id)
  return { completeUpTo: complete ?? before.completeUpTo, partlyShown: last }
}

function encodePosition({ completeUpTo, partlyShown }: Position): string {
  const partlyShownKey = partlyShown ? [partlyShown.sortTime, partlyShown.id, partlyShown.suffix] : []
  return encodeCursorParts([completeUpTo?.sortTime ?? null, completeUpTo?.id ?? '', ...partlyShownKey])
}

/** @throws InvalidInput */
function decodePosition(text: string): Position {
  const [time, id, ...partlyShownKey] = decodeCursorParts(text)
  const [partTime, partId, suffix] = partlyShownKey
  const completeUpTo = time === null && id === '' ? undefined : decodeKey(time, id)
  if (partlyShownKey.length === 0 && completeUpTo) return { completeUpTo, partlyShown: undefined }
  if (partlyShownKey.length !== 3 || typeof suffix !== 'string') throw invalidSearchCursor()
  return { completeUpTo, partlyShown: { ...decodeKey(partTime, partId), suffix } }
}

/** JSON has no infinite numbers, so that a missing value is null there. @throws InvalidInput */
function decodeKey(time: unknown, id: unknown): Omit<Key, 'suffix'> {
  if (!(time === null || isTime(time)) || typeof id !== 'string' || id === '') throw invalidSearchCursor()
  return { sortTime: time ?? MISSING, id }
}

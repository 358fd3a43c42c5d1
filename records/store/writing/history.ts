import { isDeepStrictEqual } from 'node:util'
import type { ClientSession, Collection, Db, Document, FindCursor } from 'mongodb'
import { limitOfPage, type ReadLimits, readDocuments } from '../../limits/read-limits.ts'
import type { PendingWrites } from '../batching/pending-writes.ts'
import { deleteInBatches } from '../batching/transaction-batches.ts'
import { LogicalClock } from '../clocks/logical-clock.ts'
import { type Author, authorOf, type Caller } from '../documents/caller.ts'
import { idsWithPrefix, newId } from '../documents/ids.ts'
import type { ParseDocument } from '../documents/parse-format.ts'
import { decodeCursor } from '../reading/cursor.ts'
import { createPage, type Page, type PageRequest } from '../reading/pages.ts'

/** One change of a record: the new version, its author and time, and the record before. */
export interface HistoryEntry extends Author {
  _id: string
  /** The version that the write created. */
  version: number
  at: Date
  /** Orders all changes, independently of any wall clock; earlier releases did not store it. */
  logicalTime?: number
  application: string
  action: 'create' | 'update' | 'delete'
  /** The names of the changed stored fields; empty unless an update. */
  changed: string[]
  /** The record before the write; null when the write created it. */
  before: ParseDocument | null
}

const HISTORY_LIST_NAME = 'history'
const VERSION_DIGITS = 10

export const historyCollection = (db: Db): Collection<HistoryEntry> =>
  db.collection<HistoryEntry>('history.changes')

/** The record that a history entry is about. */
export interface HistoryKey {
  collection: string
  id: string
  /** The EHR that the record belongs to, if any. */
  ehrId?: string | null | undefined
}

/** Ids sort by EHR, collection, record and version, so that the primary index serves every query. */
const entryIdPrefix = ({ ehrId, collection, id }: HistoryKey): string =>
  `${ehrId ? `${ehrId}/` : ''}${collection}/${id}`

const entryIdStart = (record: HistoryKey, version?: number): string =>
  `${entryIdPrefix(record)}/${version === undefined ? '' : String(version).padStart(VERSION_DIGITS, '0')}`

/** The ids of the changes of a record, from a version on. */
const entryIdRange = (record: HistoryKey, version?: number): { $gte: string; $lt: string } => ({
  ...idsWithPrefix(entryIdStart(record)),
  $gte: entryIdStart(record, version),
})

const META_FIELDS = new Set(['version', '_created_at', '_updated_at', '_acl'])

/** The names of the fields that differ between two stored forms of a record. */
export function changedFieldNames(before: Record<string, unknown>, after: Record<string, unknown>): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...names]
    .filter((name) => !META_FIELDS.has(name) && !isDeepStrictEqual(before[name], after[name]))
    .sort()
}

/** Creates the history entry of the write that creates `version` of a record. */
export function createHistoryEntry(
  record: HistoryKey,
  { caller, at }: { caller: Caller; at: Date },
  write: Pick<HistoryEntry, 'action' | 'version' | 'before' | 'changed'>,
): HistoryEntry {
  const _id = `${entryIdStart(record, write.version)}/${newId()}`
  return { _id, at, ...authorOf(caller), application: caller.application, ...write }
}

/** Adds history entries to the writes of a transaction. Only a transaction of a store does so, last. */
export async function addHistory(db: Db, changes: HistoryEntry[], pending: PendingWrites): Promise<void> {
  if (changes.length === 0) return
  const logicalTime = await LogicalClock.of(db).next()
  const entries = changes.map((change) => ({ ...change, logicalTime }))
  pending.insert(historyCollection(db), entries)
}

/** Lists the changes of one record, newest first. @throws MalformedRequest for a foreign cursor */
export async function listHistory(
  db: Db,
  record: HistoryKey,
  page: PageRequest,
  limits: ReadLimits,
): Promise<Page<HistoryEntry>> {
  const _id = entryIdRange(record)
  const start = _id.$gte
  const $lt = page.cursor === undefined ? _id.$lt : start + decodeCursor(HISTORY_LIST_NAME, page.cursor).value
  const changes = historyCollection(db)
    .find({ _id: { ..._id, $lt } })
    .sort({ _id: -1 })
    .limit(page.limit + 1)
  const read = await readDocuments(changes, limits)
  const total = page.count ? await historyCollection(db).countDocuments({ _id }) : undefined
  const positionOf = (last: HistoryEntry) => ({ value: last._id.slice(start.length), id: record.id })
  const limit = limitOfPage(page.limit, [read])
  return createPage(HISTORY_LIST_NAME, read.documents, limit, positionOf, total)
}

/** All changes of one record, oldest first, one after the other. */
export const iterateHistory = (db: Db, record: HistoryKey): FindCursor<HistoryEntry> =>
  historyCollection(db)
    .find({ _id: entryIdRange(record) })
    .sort({ _id: 1 })

/**
 * Finds a former version of a record; null when it is unknown.
 * @param createdAt excludes versions of a deleted record with the same id
 */
export async function findVersion(
  db: Db,
  record: HistoryKey,
  version: number,
  createdAt?: Date,
): Promise<ParseDocument | null> {
  const later = {
    _id: entryIdRange(record, version + 1),
    'before.version': version,
    ...(createdAt && { 'before._created_at': createdAt }),
  }
  const laterChange = await historyCollection(db).findOne(later, { sort: { _id: 1 } })
  return laterChange?.before ?? null
}

/** Finds the last version of a deleted record; null if it exists. @param tx counts with its own changes */
export async function findDeletedVersion(
  db: Db,
  record: HistoryKey,
  tx?: { session: ClientSession; changes: readonly HistoryEntry[] },
): Promise<ParseDocument | null> {
  const _id = entryIdRange(record)
  const options = { sort: { _id: -1 }, ...(tx && { session: tx.session }) } as const
  const last =
    tx?.changes.findLast((change) => change._id.startsWith(_id.$gte)) ??
    (await historyCollection(db).findOne({ _id }, options))
  return last?.action === 'delete' ? last.before : null
}

/** The version with which a deleted record returns: the deletion was a version of its own. */
export const versionAfterDeletion = ({ version }: ParseDocument): number => version + 2

/** Finds the version with which a new record continues the history of a deleted one; nothing if there was none. */
export async function findFirstVersion(
  db: Db,
  record: HistoryKey,
  tx: Parameters<typeof findDeletedVersion>[2],
): Promise<{ first?: { version: number } }> {
  const deleted = await findDeletedVersion(db, record, tx)
  return deleted ? { first: { version: versionAfterDeletion(deleted) } } : {}
}

/** Finds records of a kind that were deleted from an EHR, the last one first. @param keys of `knownBy` */
export async function findDeletedIds(
  db: Db,
  { ehrId, collection }: { ehrId: string; collection: string },
  keys: readonly string[],
): Promise<string[]> {
  const ofKind = { _id: idsWithPrefix(`${ehrId}/${collection}/`), action: 'delete' } as const
  const deletions = historyCollection(db).find({ ...ofKind, 'before.knownBy': { $in: [...keys] } })
  const changes = await deletions.sort({ logicalTime: -1 }).toArray()
  return [...new Set(changes.flatMap(({ before }) => before?._id ?? []))]
}

/** MongoDB allows 1,000 stages in a pipeline. */
const RECORDS_PER_COMMAND = 200

/**
 * Finds the changes of several records, by record id and in the order of versions. One command finds those of many: one
 * for each record would dominate the request's time.
 * @param most maximum number of changes per record
 * @param fields fields of the changes to read; `_id` is always included
 */
export async function findHistories<F extends keyof HistoryEntry>(
  db: Db,
  records: readonly HistoryKey[],
  most: number,
  fields: readonly F[],
): Promise<Map<string, Pick<HistoryEntry, F>[]>> {
  const histories = new Map<string, Pick<HistoryEntry, F>[]>(records.map(({ id }) => [id, []]))
  const pipelines = records.map((record) => [
    { $match: { _id: entryIdRange(record) } },
    { $sort: { _id: 1 } },
    { $limit: most },
    { $project: Object.fromEntries(fields.map((field) => [field, 1])) },
  ])
  for await (const change of runPipelines<Pick<HistoryEntry, F | '_id'>>(db, pipelines))
    histories.get(change._id.split('/').at(-3) as string)?.push(change)
  return histories
}

/** Runs a pipeline for each of many records of the history, with few commands. */
async function* runPipelines<T extends Document>(
  db: Db,
  pipelines: readonly (readonly Document[])[],
): AsyncIterable<T> {
  const entries = historyCollection(db)
  for (let i = 0; i < pipelines.length; i += RECORDS_PER_COMMAND) {
    const [first = [], ...others] = pipelines.slice(i, i + RECORDS_PER_COMMAND)
    const unions = others.map((pipeline) => ({ $unionWith: { coll: entries.collectionName, pipeline } }))
    yield* entries.aggregate<T>([...first, ...unions])
  }
}

/** Finds the readers of those records that are deleted, as of their last version. */
export async function findDeletedReaders<T extends HistoryKey>(
  db: Db,
  records: readonly T[],
): Promise<Map<T, readonly string[]>> {
  const pipelines = records.map((record, i) => [
    { $match: { _id: entryIdRange(record) } },
    { $sort: { _id: -1 } },
    { $limit: 1 },
    { $project: { record: { $literal: i }, action: 1, readers: '$before._rperm' } },
  ])
  const readers = new Map<T, readonly string[]>()
  const lastChanges = runPipelines<{ record: number; action: string; readers?: readonly string[] }>(
    db,
    pipelines,
  )
  for await (const last of lastChanges)
    if (last.action === 'delete') readers.set(records[last.record] as T, last.readers ?? [])
  return readers
}

/** Deletes the history of a purged record, or of all whose key `collection/id` lies in a range. */
export async function deleteHistory(
  db: Db,
  selection: HistoryKey | { $gte: string; $lt: string },
  session: ClientSession,
): Promise<void> {
  await historyCollection(db).deleteMany(
    { _id: 'id' in selection ? entryIdRange(selection) : selection },
    { session },
  )
}

/** Deletes the histories of many purged records. */
export async function deleteHistories(
  db: Db,
  records: readonly HistoryKey[],
  session: ClientSession,
): Promise<void> {
  const deletions = records.map((record) => ({ deleteMany: { filter: { _id: entryIdRange(record) } } }))
  if (deletions.length > 0) await historyCollection(db).bulkWrite(deletions, { session, ordered: false })
}

/** Deletes the history of all records of an EHR, including records deleted long ago. */
export const deleteHistoryOfEhr = (db: Db, ehrId: string): Promise<void> =>
  deleteInBatches(historyCollection(db), { _id: idsWithPrefix(`${ehrId}/`) })

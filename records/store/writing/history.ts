import { isDeepStrictEqual } from 'node:util'
import type { ClientSession, Collection, Db } from 'mongodb'
import { removeInSteps } from '../batching/steps.ts'
import type { Caller } from '../documents/caller.ts'
import { newId } from '../documents/ids.ts'
import type { ParseDocument } from '../documents/parse-format.ts'
import { decodeCursor } from '../reading/cursor.ts'
import { type Page, type PageOf, paged } from '../reading/listing.ts'

/** One write: who made which version of a record, when, and what it replaced. */
export interface Change {
  _id: string
  /** The version that the write made. */
  version: number
  at: Date
  userId: string
  application: string
  action: 'create' | 'update' | 'delete'
  /** The names of the stored fields that differ; of an update only. */
  changed: string[]
  /** The record before the write; null when the write created it. */
  before: ParseDocument | null
  /** Kept before a write that another part (Parse Server) does: after a crash the write may not have happened. */
  announced?: true
}

const HISTORY = 'history'
const DIGITS = 10

/** A name that no Parse class can have: the class family never reaches it. */
export const changesOf = (db: Db): Collection<Change> => db.collection<Change>('history.changes')

/** The record that a change is of. */
export interface RecordKey {
  collection: string
  id: string
  /** The EHR whose data it is, if it is one's. */
  ehrId?: string | null | undefined
}

/** Ids sort by EHR, collection, record and version, so that the primary index serves every query. */
const startOf = (record: RecordKey, version?: number): string =>
  `${pathOf(record)}/${version === undefined ? '' : String(version).padStart(DIGITS, '0')}`
/** '0' is the character after '/'. */
const endOf = (record: RecordKey): string => `${pathOf(record)}0`
const pathOf = ({ ehrId, collection, id }: RecordKey): string =>
  `${ehrId ? `${ehrId}/` : ''}${collection}/${id}`

const UNCOMPARED = new Set(['version', '_created_at', '_updated_at', '_acl'])

/** The names of the fields that differ between two stored forms of a record. */
export function changedFields(before: Record<string, unknown>, after: Record<string, unknown>): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...names]
    .filter((name) => !UNCOMPARED.has(name) && !isDeepStrictEqual(before[name], after[name]))
    .sort()
}

/** Describes the write that makes `version` of a record. */
export function changeOf(
  record: RecordKey,
  by: { caller: Caller; at: Date },
  write: Pick<Change, 'action' | 'version' | 'before' | 'changed' | 'announced'>,
): Change {
  const { userId, application } = by.caller
  return {
    _id: `${startOf(record, write.version)}/${newId()}`,
    at: by.at,
    userId,
    application,
    ...write,
  }
}

/** Keeps changes, in the transaction of the writes that they describe where there is one. */
export async function keepChanges(db: Db, changes: Change[], session?: ClientSession): Promise<void> {
  if (changes.length > 0) await changesOf(db).insertMany(changes, session ? { session } : {})
}

/** The changes of one record, newest first. @throws MalformedRequest for a cursor that it did not give out */
export async function listChanges(db: Db, record: RecordKey, page: PageOf): Promise<Page<Change>> {
  const start = startOf(record)
  const end = page.cursor === undefined ? endOf(record) : start + decodeCursor(HISTORY, page.cursor).value
  const found = await changesOf(db)
    .find({ _id: { $gte: start, $lt: end } })
    .sort({ _id: -1 })
    .limit(page.limit + 1)
    .toArray()
  const total = page.count
    ? await changesOf(db).countDocuments({ _id: { $gte: start, $lt: endOf(record) } })
    : undefined
  const positionOf = ({ _id }: Change) => ({ value: _id.slice(start.length), id: record.id })
  return paged(HISTORY, found, page.limit, positionOf, total)
}

/** The record as it was at a former version, or null when that is not known. */
export async function documentAt(db: Db, record: RecordKey, version: number): Promise<ParseDocument | null> {
  const later = { $gte: startOf(record, version + 1), $lt: endOf(record) }
  const found = await changesOf(db).findOne({ _id: later, 'before.version': version }, { sort: { _id: 1 } })
  return found?.before ?? null
}

/** The ids of all changes of a record, in the order of its versions. */
const changesWithin = (record: RecordKey): { $gte: string; $lt: string } => ({
  $gte: startOf(record),
  $lt: endOf(record),
})

/**
 * The changes of some records, by the records' ids, in the order of their versions. It is one command: one for each record
 * would take longer than all that is done with them.
 * @param most of each record
 * @param fields of changes, beside their ids
 */
export async function changesOfEach<F extends keyof Change>(
  db: Db,
  records: readonly RecordKey[],
  most: number,
  fields: readonly F[],
): Promise<Map<string, Pick<Change, F>[]>> {
  const [first = [], ...others] = records.map((record) => [
    { $match: { _id: changesWithin(record) } },
    { $sort: { _id: 1 } },
    { $limit: most },
    { $project: Object.fromEntries(fields.map((field) => [field, 1])) },
  ])
  const all = changesOf(db)
  const more = others.map((pipeline) => ({ $unionWith: { coll: all.collectionName, pipeline } }))
  const found = new Map<string, Pick<Change, F>[]>(records.map(({ id }) => [id, []]))
  if (records.length > 0)
    for await (const change of all.aggregate<Pick<Change, F | '_id'>>([...first, ...more]))
      found.get(change._id.split('/').at(-3) as string)?.push(change)
  return found
}

/** Forgets the changes of a record that is gone for good. */
export async function forgetChanges(db: Db, record: RecordKey, session: ClientSession): Promise<void> {
  await changesOf(db).deleteMany({ _id: changesWithin(record) }, { session })
}

/** Forgets the changes of all records whose collection and id, `collection/id`, lie in a range. */
export async function forgetChangesWithin(
  db: Db,
  range: { $gte: string; $lt: string },
  session: ClientSession,
): Promise<void> {
  await changesOf(db).deleteMany({ _id: range }, { session })
}

/** Forgets all changes of all records of an EHR, also of records that are long gone. */
export const forgetChangesOfEhr = (db: Db, ehrId: string): Promise<void> =>
  removeInSteps(changesOf(db), { _id: { $gte: `${ehrId}/`, $lt: `${ehrId}0` } })

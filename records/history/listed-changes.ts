import type { Db, IndexDescription } from 'mongodb'
import { CONTAINER_ID_FIELDS } from '../ehrs/deletion/cascading-deletion.ts'
import { type ContentRecord, findHiddenRecords } from '../ehrs/deletion/hidden-contents.ts'
import { type Caller, isPermitted, permissionFilter } from '../store/documents/caller.ts'
import { documentCollection } from '../store/documents/database.ts'
import { idsWithPrefix } from '../store/documents/ids.ts'
import { findDeletedReaders, type HistoryEntry, historyCollection } from '../store/writing/history.ts'
import { type ChangedRecord, loadRecordChanges, parseChangeId, type RecordChange } from './changes.ts'

/** The place of a change in a list, newest first. */
export interface ChangePlace {
  at: Date
  changeId: string
}

/** Which changes of EHRs to list. */
export interface ChangeQuery {
  /** The caller must be allowed to read them. */
  ehrIds: readonly string[]
  collections: readonly string[]
  /** Only changes of this record. */
  id?: string
  since: Date | undefined
  /** Only deletions; in these collections updates, too, which may delete a part of a record. */
  deletions?: { updatesOf: readonly string[] }
  /** The first change of the list. */
  from: ChangePlace | undefined
  limit: number
}

/** A change with its place. */
export interface ListedChange extends RecordChange {
  changeId: string
}

type FoundChange = ChangePlace & ChangedRecord

/** Keys of the history begin with the EHR. This finds the deletions of a record whose EHR nobody has named. */
export const DELETION_INDEX: IndexDescription = {
  name: 'deletions',
  key: { 'before._id': 1 },
  partialFilterExpression: { action: 'delete' },
}

/** Finds the deleted records with this id, one of a collection; they may have been restored since. */
export async function findDeletedRecords(db: Db, id: string): Promise<ChangedRecord[]> {
  const deletions = historyCollection(db).find({ action: 'delete', 'before._id': id })
  const records = (await deletions.project({ _id: 1 }).toArray()).map(({ _id }) => parseChangeId(_id))
  return [...new Map(records.map((record) => [record.collection, record])).values()]
}

/** Finds which of these changes have later ones of the same record, by their ids. One command finds all. */
export async function findEarlierChanges(db: Db, changeIds: readonly string[]): Promise<Set<string>> {
  const [first = [], ...others] = changeIds.map((changeId) => {
    const parts = changeId.split('/')
    const record = parts.slice(0, -2).join('/')
    const version = parts.at(-2)
    return [
      { $match: { _id: { ...idsWithPrefix(`${record}/`), $gte: `${record}/${version}0` } } },
      { $limit: 1 },
      { $project: { _id: { $literal: changeId } } },
    ]
  })
  const historyEntries = historyCollection(db)
  const more = others.map((pipeline) => ({ $unionWith: { coll: historyEntries.collectionName, pipeline } }))
  const matches =
    changeIds.length > 0 ? await historyEntries.aggregate<{ _id: string }>([...first, ...more]).toArray() : []
  return new Set(matches.map(({ _id }) => _id))
}

/** Changes to look at in one round; the caller may read only some of them. */
const ROUND_SIZE = 200

/**
 * Lists the changes of records that the caller may read, newest first. It sorts all changes of the EHRs in these
 * collections, so its time grows with them, until the deadline of queries.
 */
export async function listChanges(db: Db, caller: Caller, query: ChangeQuery): Promise<ListedChange[]> {
  const hiddenDeletions = await findHiddenDeletions(db, caller, query)
  const byId = new Map(hiddenDeletions.map((one) => [one.changeId, one]))
  const changesNewestFirst = [...(await listStoredChanges(db, caller, query)), ...hiddenDeletions].sort(
    compareNewestFirst,
  )
  const changeIds = changesNewestFirst.slice(0, query.limit).map(({ changeId }) => changeId)
  const storedIds = changeIds.filter((changeId) => !byId.has(changeId))
  const storedChanges = await loadRecordChanges(
    db,
    storedIds.map((changeId) => ({ changeId, position: changeId })),
  )
  const deletions = changeIds.flatMap((changeId) => byId.get(changeId) ?? [])
  const recordChanges = [...storedChanges, ...(await loadHiddenDeletions(db, caller, deletions))]
  const changes = new Map(recordChanges.map((one) => [one.position, { ...one, changeId: one.position }]))
  return changeIds.flatMap((changeId) => changes.get(changeId) ?? [])
}

async function listStoredChanges(db: Db, caller: Caller, query: ChangeQuery): Promise<FoundChange[]> {
  const readable: FoundChange[] = []
  let { from } = query
  for (let isLast = false; !isLast && readable.length < query.limit; ) {
    const changes = await findChanges(db, { ...query, from, limit: ROUND_SIZE + 1 })
    isLast = changes.length <= ROUND_SIZE
    from = changes[ROUND_SIZE]
    readable.push(...(await keepReadable(db, caller, changes.slice(0, ROUND_SIZE))))
  }
  return readable.slice(0, query.limit)
}

/**
 * Deletions that have no history entry of their own: records are hidden because the plan, goal, task or event that they
 * belong to is deleted.
 */
async function findHiddenDeletions(
  db: Db,
  caller: Caller,
  { ehrIds, collections, id, since, from }: ChangeQuery,
): Promise<ListedChange[]> {
  const deletions = await findContainerDeletions(db, ehrIds, since)
  if (deletions.size === 0) return []
  const inEhrs = { ehrId: { $in: [...ehrIds] }, ...(id !== undefined && { _id: id }) }
  const recordsByCollection = collections.map((name) =>
    findHiddenRecords(db, caller, name, inEhrs, { fields: [] }),
  )
  return (await Promise.all(recordsByCollection)).flat().flatMap((record) => {
    const deletion = deletions.get(record.containerId)
    const change = deletion && hiddenDeletion(record, deletion)
    const isReached =
      !from || change?.changeId === from.changeId || (change && compareNewestFirst(change, from) > 0)
    return change && isReached ? [change] : []
  })
}

/** Adds the whole records, which a page needs of few. */
async function loadHiddenDeletions(
  db: Db,
  caller: Caller,
  deletions: readonly ListedChange[],
): Promise<ListedChange[]> {
  const names = [...new Set(deletions.map(({ collection }) => collection))]
  const recordsByCollection = names.map((name) => {
    const ids = deletions.flatMap(({ collection, id }) => (collection === name ? id : []))
    return findHiddenRecords(db, caller, name, { _id: { $in: ids } })
  })
  const records = new Map(
    (await Promise.all(recordsByCollection)).flat().map((one) => [one.id, one.document]),
  )
  return deletions.flatMap((one) => {
    const before = records.get(one.id)
    return before ? [{ ...one, before }] : []
  })
}

/** Matches the ids of the changes of plans, goals, tasks and events. */
const CONTAINER_CHANGE_ID = `^[^/]+/(?:${Object.keys(CONTAINER_ID_FIELDS).join('|')})/`

/** The last deletions of plans, goals, tasks and events, by their ids. */
async function findContainerDeletions(
  db: Db,
  ehrIds: readonly string[],
  since: Date | undefined,
): Promise<Map<string, HistoryEntry>> {
  const deletions = historyCollection(db).find(
    {
      action: 'delete',
      'before.ehrId': { $in: [...ehrIds] },
      _id: { $regex: CONTAINER_CHANGE_ID },
      ...(since && { at: { $gte: since } }),
    },
    { projection: { before: 0 } },
  )
  const entries = await deletions.sort({ at: 1, _id: 1 }).toArray()
  return new Map(entries.map((entry) => [parseChangeId(entry._id).id, entry]))
}

/** The deletion of a record with what it belongs to, as a change of its own. It would be the next version. */
export function hiddenDeletion(
  { collection, id, ehrId, document }: ContentRecord,
  { at, userId, onBehalfOf, application }: Pick<RecordChange, 'at' | 'userId' | 'onBehalfOf' | 'application'>,
): ListedChange {
  const version = Number(document.version) + 1
  const changeId = [ehrId, collection, id, version, 'hidden'].join('/')
  const change = { collection, id, ehrId, version, at, userId, onBehalfOf, application }
  return { ...change, changeId, position: changeId, action: 'delete', before: document, after: null }
}

const DELETING_ACTIONS: readonly RecordChange['action'][] = ['delete', 'update']

async function findChanges(
  db: Db,
  { ehrIds, collections, id, since, deletions, from, limit }: ChangeQuery,
): Promise<FoundChange[]> {
  const ranges = ehrIds.flatMap((ehrId) =>
    collections.map((collection) => ({
      prefix: `${ehrId}/${collection}/${id === undefined ? '' : `${id}/`}`,
      actions: deletions && DELETING_ACTIONS.slice(0, deletions.updatesOf.includes(collection) ? 2 : 1),
    })),
  )
  const entriesByRange = ranges.map(({ prefix, actions }) =>
    historyCollection(db)
      .find(
        {
          _id: idsWithPrefix(prefix),
          ...(actions && { action: { $in: actions } }),
          ...(since && { at: { $gte: since } }),
          ...(from && { $or: [{ at: { $lt: from.at } }, { at: from.at, _id: { $lte: from.changeId } }] }),
        },
        { projection: { at: 1 } },
      )
      .sort({ at: -1, _id: -1 })
      .limit(limit)
      .toArray(),
  )
  const changes = (await Promise.all(entriesByRange)).flat().map(({ _id, at }) => ({
    ...parseChangeId(_id),
    changeId: _id,
    at,
  }))
  return changes.sort(compareNewestFirst).slice(0, limit)
}

const compareNewestFirst = (a: ChangePlace, b: ChangePlace): number =>
  b.at.getTime() - a.at.getTime() || (a.changeId < b.changeId ? 1 : -1)

/** Keeps changes of records that the caller may read, or could read when they were deleted. */
async function keepReadable(db: Db, caller: Caller, changes: readonly FoundChange[]): Promise<FoundChange[]> {
  const readable = new Set<string>()
  const deletedRecords: FoundChange[] = []
  for (const name of new Set(changes.map(({ collection }) => collection))) {
    const records = new Map(changes.flatMap((one) => (one.collection === name ? [[one.id, one]] : [])))
    const filter = { _id: { $in: [...records.keys()] }, ...permissionFilter('_rperm', caller) }
    const readableRecords = documentCollection({ db }, name).find(filter, { projection: { _id: 1 } })
    for (const { _id } of await readableRecords.toArray()) {
      readable.add(`${name}/${_id}`)
      records.delete(_id)
    }
    const left = { _id: { $in: [...records.keys()] } }
    if (records.size > 0)
      for (const { id } of await findHiddenRecords(db, caller, name, left, { fields: [] })) {
        readable.add(`${name}/${id}`)
        records.delete(id)
      }
    deletedRecords.push(...records.values())
  }
  for (const [{ collection, id }, readers] of await findDeletedReaders(db, deletedRecords))
    if (isPermitted(readers, caller)) readable.add(`${collection}/${id}`)
  return changes.filter(({ collection, id }) => readable.has(`${collection}/${id}`))
}

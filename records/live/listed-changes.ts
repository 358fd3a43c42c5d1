import type { Db, IndexDescription } from 'mongodb'
import { type Caller, isPermitted, permissionFilter } from '../store/documents/caller.ts'
import { documentCollection } from '../store/documents/database.ts'
import { findDeletedVersion, historyCollection } from '../store/writing/history.ts'
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
  since: Date | undefined
  /** Only changes of this kind. */
  action?: RecordChange['action']
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
    const [record, version] = [parts.slice(0, -2).join('/'), parts.at(-2)]
    return [
      { $match: { _id: { $gte: `${record}/${version}0`, $lt: `${record}0` } } },
      { $limit: 1 },
      { $project: { _id: { $literal: changeId } } },
    ]
  })
  const all = historyCollection(db)
  const more = others.map((pipeline) => ({ $unionWith: { coll: all.collectionName, pipeline } }))
  const found =
    changeIds.length > 0 ? await all.aggregate<{ _id: string }>([...first, ...more]).toArray() : []
  return new Set(found.map(({ _id }) => _id))
}

/** Changes to look at in one round; the caller may read only some of them. */
const ROUND_SIZE = 200

/**
 * Lists the changes of records that the caller may read, newest first. It sorts all changes of the EHRs in these
 * collections, so its time grows with them, until the deadline of queries.
 */
export async function listChanges(db: Db, caller: Caller, query: ChangeQuery): Promise<ListedChange[]> {
  const readable: FoundChange[] = []
  let { from } = query
  for (let isLast = false; !isLast && readable.length < query.limit; ) {
    const found = await findChanges(db, { ...query, from, limit: ROUND_SIZE + 1 })
    isLast = found.length <= ROUND_SIZE
    from = found[ROUND_SIZE]
    readable.push(...(await keepReadable(db, caller, found.slice(0, ROUND_SIZE))))
  }
  const listed = readable.slice(0, query.limit).map(({ changeId }) => ({ changeId, position: changeId }))
  const loaded = await loadRecordChanges(db, listed)
  return loaded.map((change) => ({ ...change, changeId: change.position }))
}

async function findChanges(
  db: Db,
  { ehrIds, collections, since, action, from, limit }: ChangeQuery,
): Promise<FoundChange[]> {
  const prefixes = ehrIds.flatMap((ehrId) => collections.map((collection) => `${ehrId}/${collection}`))
  const found = prefixes.map((prefix) =>
    historyCollection(db)
      .find(
        {
          _id: { $gte: `${prefix}/`, $lt: `${prefix}0` },
          ...(action && { action }),
          ...(since && { at: { $gte: since } }),
          ...(from && { $or: [{ at: { $lt: from.at } }, { at: from.at, _id: { $lte: from.changeId } }] }),
        },
        { projection: { at: 1 } },
      )
      .sort({ at: -1, _id: -1 })
      .limit(limit)
      .toArray(),
  )
  const changes = (await Promise.all(found)).flat().map(({ _id, at }) => ({
    ...{ ...parseChangeId(_id), changeId: _id, at },
  }))
  return changes.sort(compareNewestFirst).slice(0, limit)
}

const compareNewestFirst = (a: ChangePlace, b: ChangePlace): number =>
  b.at.getTime() - a.at.getTime() || (a.changeId < b.changeId ? 1 : -1)

/** Keeps changes of records that the caller may read, or could read when they were deleted. */
async function keepReadable(db: Db, caller: Caller, changes: readonly FoundChange[]): Promise<FoundChange[]> {
  const readable = new Set<string>()
  for (const name of new Set(changes.map(({ collection }) => collection))) {
    const records = new Map(changes.flatMap((one) => (one.collection === name ? [[one.id, one]] : [])))
    const sought = { _id: { $in: [...records.keys()] }, ...permissionFilter('_rperm', caller) }
    const found = documentCollection({ db }, name).find(sought, { projection: { _id: 1 } })
    for (const { _id } of await found.toArray()) {
      readable.add(`${name}/${_id}`)
      records.delete(_id)
    }
    for (const record of records.values()) {
      const deleted = await findDeletedVersion(db, record)
      if (deleted && isPermitted(deleted._rperm, caller)) readable.add(`${name}/${record.id}`)
    }
  }
  return changes.filter(({ collection, id }) => readable.has(`${collection}/${id}`))
}

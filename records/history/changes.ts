import type { Db } from 'mongodb'
import { documentCollection } from '../store/documents/database.ts'
import type { ParseDocument } from '../store/documents/parse-format.ts'
import {
  findVersion,
  type HistoryEntry,
  type HistoryKey,
  historyCollection,
} from '../store/writing/history.ts'

/** The changed record, as parsed from the id of the history entry. */
export interface ChangedRecord extends HistoryKey {
  ehrId: string | null
  version: number
}

/** The id of a change's history entry, with its position in the log. */
export interface LoggedChange {
  changeId: string
  position: string
}

/** A committed change with the record before and after it. */
export interface RecordChange extends ChangedRecord {
  position: string
  at: Date
  userId: string
  /** The person for whom the user acted as a helper. */
  onBehalfOf?: string | undefined
  application: string
  action: HistoryEntry['action']
  before: ParseDocument | null
  after: ParseDocument | null
  /** Of a care plan that was deleted or returned: the users who took part in it then. A deletion ends their access. */
  participants?: ReadonlySet<string>
}

/** Finds the users who took part in a care plan at a time. */
export type FindParticipants = (carePlanId: string, at: Date) => Promise<ReadonlySet<string>>

/** Parses `<EHR>/<collection>/<id>/<version>/…`; the EHR is optional. */
export function parseChangeId(changeId: string): ChangedRecord {
  const parts = changeId.split('/')
  const ehrId = parts.length > 4 ? (parts.shift() ?? null) : null
  const [collection = '', id = '', version] = parts
  return { ehrId, collection, id, version: Number(version) }
}

const recordKeyText = ({ collection, id }: HistoryKey): string => `${collection}/${id}`

/** Finds the current documents of changed records. */
async function findCurrentDocuments(
  db: Db,
  changes: readonly HistoryKey[],
): Promise<Map<string, ParseDocument>> {
  const idsIn = new Map<string, Set<string>>()
  for (const { collection, id } of changes)
    idsIn.set(collection, (idsIn.get(collection) ?? new Set()).add(id))
  const entriesByCollection = [...idsIn].map(async ([collection, ids]) => {
    const documents = await documentCollection({ db }, collection)
      .find({ _id: { $in: [...ids] } })
      .toArray()
    return documents.map(
      (document) => [recordKeyText({ collection, id: document._id }), document as ParseDocument] as const,
    )
  })
  return new Map((await Promise.all(entriesByCollection)).flat())
}

/**
 * Loads changes with their records, in order; omits records that are hidden by now.
 * @param findParticipants absent: the changes name no participants
 */
export async function loadRecordChanges(
  db: Db,
  loggedChanges: readonly LoggedChange[],
  findParticipants?: FindParticipants,
): Promise<RecordChange[]> {
  if (loggedChanges.length === 0) return []
  const changeIds = loggedChanges.map(({ changeId }) => changeId)
  const records = changeIds.map(parseChangeId)
  const [entries, current] = await Promise.all([
    historyCollection(db)
      .find({ _id: { $in: changeIds } })
      .toArray(),
    findCurrentDocuments(db, records),
  ])
  const byId = new Map(entries.map((entry) => [entry._id, entry]))
  const changes = loggedChanges.map(async ({ changeId, position }): Promise<RecordChange | undefined> => {
    const record = parseChangeId(changeId)
    const entry = byId.get(changeId)
    if (!entry) return undefined
    const { at, userId, onBehalfOf, application, action, before } = entry
    const after = await findDocumentAfter(db, record, current.get(recordKeyText(record)))
    if (!after && action !== 'delete') return undefined
    const participants = isPlanDeletionOrReturn(record, action) && (await findParticipants?.(record.id, at))
    const change = { ...record, position, at, userId, onBehalfOf, application, action, before, after }
    return participants ? { ...change, participants } : change
  })
  return (await Promise.all(changes)).flatMap((one) => one ?? [])
}

/** Omits the changes of EHRs that are deleted by now, except the deletions of EHRs themselves. */
export async function omitDeletedEhrs(db: Db, changes: readonly RecordChange[]): Promise<RecordChange[]> {
  const ids = new Set(changes.flatMap(({ ehrId }) => ehrId ?? []))
  if (ids.size === 0) return [...changes]
  const ehrs = documentCollection({ db }, 'Ehr').find({ _id: { $in: [...ids] } }, { projection: { _id: 1 } })
  const existingIds = new Set(await ehrs.map(({ _id }) => _id).toArray())
  return changes.filter(
    ({ collection, ehrId }) => ehrId === null || collection === 'Ehr' || existingIds.has(ehrId),
  )
}

/** Whether a change deletes a care plan, or lets it return. */
const isPlanDeletionOrReturn = (
  { collection, version }: ChangedRecord,
  action: HistoryEntry['action'],
): boolean => collection === 'CarePlan' && (action === 'delete' || (action === 'create' && version > 1))

/** Finds the record after a change. Its permissions are the current ones. */
async function findDocumentAfter(
  db: Db,
  record: ChangedRecord,
  current: ParseDocument | undefined,
): Promise<ParseDocument | null> {
  if (current?.version === record.version) return current
  const formerVersion = await findVersion(db, record, record.version)
  return formerVersion && current
    ? { ...formerVersion, _rperm: current._rperm, _wperm: current._wperm }
    : (formerVersion ?? current ?? null)
}

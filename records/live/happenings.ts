import type { Db } from 'mongodb'
import { documentsOf } from '../store/documents/database.ts'
import type { ParseDocument } from '../store/documents/parse-format.ts'
import { type Change, changesOf, documentAt, type RecordKey } from '../store/writing/history.ts'

/** What a change is of, as the id of its entry in the history tells. */
export interface ChangedRecord extends RecordKey {
  ehrId: string | null
  version: number
}

/** A change, by the id of its entry in the history, and where it stands in the log. */
export interface Placed {
  changeId: string
  position: string
}

/** A change that has come about, with the record before and after it. */
export interface Happening extends ChangedRecord {
  position: string
  at: Date
  action: Change['action']
  before: ParseDocument | null
  after: ParseDocument | null
}

/** `<EHR>/<collection>/<id>/<version>/…`, the EHR only where there is one. */
export function changedRecord(changeId: string): ChangedRecord {
  const parts = changeId.split('/')
  const ehrId = parts.length > 4 ? (parts.shift() ?? null) : null
  const [collection = '', id = '', version] = parts
  return { ehrId, collection, id, version: Number(version) }
}

const keyOf = ({ collection, id }: RecordKey): string => `${collection}/${id}`

/** The records of changes as they are now. */
async function documentsNow(db: Db, changes: readonly RecordKey[]): Promise<Map<string, ParseDocument>> {
  const idsIn = new Map<string, Set<string>>()
  for (const { collection, id } of changes)
    idsIn.set(collection, (idsIn.get(collection) ?? new Set()).add(id))
  const found = [...idsIn].map(async ([collection, ids]) => {
    const documents = await documentsOf({ db }, collection)
      .find({ _id: { $in: [...ids] } })
      .toArray()
    return documents.map(
      (document) => [keyOf({ collection, id: document._id }), document as ParseDocument] as const,
    )
  })
  return new Map((await Promise.all(found)).flat())
}

/** Those of the changes whose writes, which Parse Server was about to do, have been done. */
export async function broughtAbout(db: Db, announced: readonly Change[]): Promise<Change[]> {
  const records = announced.map(({ _id }) => changedRecord(_id))
  const now = await documentsNow(db, records)
  return announced.filter(({ action, version }, i) => {
    const document = now.get(keyOf(records[i] as RecordKey))
    return action === 'delete' ? document === undefined : (document?.version ?? 0) >= version
  })
}

/** What has happened, in the order of the changes; without what is hidden by now. */
export async function happeningsOf(db: Db, placed: readonly Placed[]): Promise<Happening[]> {
  if (placed.length === 0) return []
  const changeIds = placed.map(({ changeId }) => changeId)
  const records = changeIds.map(changedRecord)
  const [entries, now] = await Promise.all([
    changesOf(db)
      .find({ _id: { $in: changeIds } })
      .toArray(),
    documentsNow(db, records),
  ])
  const byId = new Map(entries.map((entry) => [entry._id, entry]))
  const happenings = placed.map(async ({ changeId, position }): Promise<Happening | undefined> => {
    const [record, entry] = [changedRecord(changeId), byId.get(changeId)]
    if (!entry) return undefined
    const { at, action, before } = entry
    const after = await afterwards(db, record, now.get(keyOf(record)))
    return after || action === 'delete' ? { ...record, position, at, action, before, after } : undefined
  })
  return (await Promise.all(happenings)).flatMap((one) => one ?? [])
}

/** The record as a change has left it; who may see it is what it says now. */
async function afterwards(
  db: Db,
  record: ChangedRecord,
  now: ParseDocument | undefined,
): Promise<ParseDocument | null> {
  if (now?.version === record.version) return now
  const then = await documentAt(db, record, record.version)
  return then && now ? { ...then, _rperm: now._rperm, _wperm: now._wperm } : (then ?? now ?? null)
}

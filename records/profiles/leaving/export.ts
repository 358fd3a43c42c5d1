import type { Collection, Db, Filter } from 'mongodb'
import { scopesWith } from '../../store/audit/scopes.ts'
import { type Caller, permitted } from '../../store/documents/caller.ts'
import { accessesOf } from '../../store/resource.ts'
import type { Records } from '../../store/writing/transaction.ts'
import { collections } from '../owner/collections.ts'
import { rangeOf } from '../owner/owner.ts'

interface KeptDocument {
  _id: string
  [field: string]: unknown
}

interface Source {
  kind: string
  collection: string
  where: Filter<KeptDocument>
}

/** What is kept about a person outside their EHRs. */
const sourcesOf = (mvUid: string): Source[] => [
  { kind: 'account', collection: '_User', where: { _id: mvUid } },
  { kind: 'identity', collection: 'auth.identities', where: { mvUid } },
  { kind: 'emailChange', collection: 'auth.email_changes', where: { _id: mvUid } },
  { kind: 'session', collection: '_Session', where: { _p_user: `_User$${mvUid}` } },
  ...Object.entries(collections).flatMap(([kind, collection]) => [
    { kind, collection, where: { _id: rangeOf(mvUid) } },
    historyOf(collection, mvUid),
  ]),
  historyOf('_User', mvUid),
]

/** The deadline of an export is its own: it is read as fast as its reader takes it. */
const atLeisure = { maxTimeMS: 600_000 }

const keptIn = (db: Db, collection: string): Collection<KeptDocument> =>
  db.collection<KeptDocument>(collection)

const historyOf = (collection: string, mvUid: string): Source => ({
  kind: 'history',
  collection: 'history.changes',
  where: { _id: rangeOf(`${collection}/${mvUid}`) },
})

/**
 * All that is kept about a person, one line of JSON each: account, profile with its history, and the EHRs that are
 * about the person with everything that the caller may read in them. Of passwords, tokens and permissions nothing.
 */
export async function* exportPerson(records: Records, caller: Caller, mvUid: string): AsyncGenerator<string> {
  for (const { kind, collection, where } of sourcesOf(mvUid)) {
    for await (const document of keptIn(records.db, collection).find(where, atLeisure))
      yield line(kind, document)
  }
  const ehrs = { subjectId: mvUid, ...permitted('_rperm', caller) }
  const ehrIds: string[] = []
  for await (const ehr of readBatches(records, caller, { kind: 'Ehr', collection: 'Ehr', where: ehrs })) {
    ehrIds.push(ehr._id)
    yield line('Ehr', ehr)
  }
  for (const kind of await ehrCollections(records)) {
    const where = { ehrId: { $in: ehrIds }, ...permitted('_rperm', caller) }
    for await (const document of readBatches(records, caller, { kind, collection: kind, where })) {
      yield line(kind, document)
    }
  }
  const accesses = keptIn(records.db, 'audit.entries').find(
    { ehrId: { $in: [...ehrIds, ...(await scopesWith(records.db, ehrIds))] } },
    atLeisure,
  )
  for await (const entry of accesses) yield line('access', entry)
}

/** The collections that may hold an EHR's data: those of the kinds, and any whose name is that of a class. */
async function ehrCollections({ db, contents }: Records): Promise<string[]> {
  const found = await db.listCollections({}, { nameOnly: true }).toArray()
  const names = found.map(({ name }) => name).filter((name) => /^[A-Z]\w*$/.test(name) && name !== 'Ehr')
  return [...new Set([...contents.Ehr, ...names])].sort()
}

/** Documents read in one go, and audited before the first of them is sent. */
const BATCH = 500

async function* readBatches(
  { db, audit }: Records,
  caller: Caller,
  { collection, where }: Source,
): AsyncGenerator<KeptDocument> {
  const audited = { collection, ehr: collection === 'Ehr' ? 'id' : 'ehrId' }
  const report = async (batch: KeptDocument[]): Promise<void> => {
    const rows = batch.map(({ _id: id, ehrId }) => ({ id, ehrId }))
    await audit.record(...accessesOf(audited, caller, { action: 'query', asked: 'export' }, rows))
  }
  let batch: KeptDocument[] = []
  for await (const document of keptIn(db, collection).find(where, { ...atLeisure, batchSize: BATCH })) {
    batch.push(document)
    if (batch.length < BATCH) continue
    await report(batch)
    yield* batch
    batch = []
  }
  if (batch.length === 0) return
  await report(batch)
  yield* batch
}

const line = (kind: string, document: KeptDocument): string =>
  `${JSON.stringify({ kind, data: plain(document) })}\n`

/** Signatures and hashes. */
const INTERNAL = new Set(['mac', 'tokenHash'])

const META: Record<string, string> = { _id: 'id', _created_at: 'createdAt', _updated_at: 'updatedAt' }

/** A document without what only the service itself uses, secrets first of all: their names begin with `_`. */
function plain(document: KeptDocument): Record<string, unknown> {
  const fields: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(document)) {
    const name = META[key] ?? (key.startsWith('_p_') ? key.slice(3) : key)
    if (!name.startsWith('_') && !INTERNAL.has(name))
      fields[name] = key === 'before' && value !== null ? plain(value as KeptDocument) : value
  }
  return fields
}

import type { Collection, Db, Filter } from 'mongodb'
import { HELPER_AGREEMENTS } from '../../accounts/helpers/helper-agreement.ts'
import { OWN_SESSIONS, userPointer } from '../../accounts/login/sessions.ts'
import { ReadBudget } from '../../limits/read-limits.ts'
import { TimeSlice } from '../../limits/time-slice.ts'
import { auditEntryCollection, iterateAccessFilters, toAuditEntry } from '../../store/audit/audit-log.ts'
import { type Caller, permissionFilter } from '../../store/documents/caller.ts'
import { accessesByEhr } from '../../store/resource.ts'
import { iterateHistory } from '../../store/writing/history.ts'
import type { StoreContext } from '../../store/writing/transaction.ts'
import { ownedIdRange } from '../storage/owner.ts'
import { PROFILE_COLLECTIONS } from '../storage/profile-collections.ts'

interface StoredDocument {
  _id: string
  [field: string]: unknown
}

interface ExportSource {
  kind: string
  collection: string
  where: Filter<StoredDocument>
}

/** The collections with data about a person outside their EHRs. */
const exportSourcesOf = (mvUid: string): ExportSource[] => [
  { kind: 'account', collection: '_User', where: { _id: mvUid } },
  { kind: 'identity', collection: 'auth.identities', where: { mvUid } },
  { kind: 'emailChange', collection: 'auth.email_changes', where: { _id: mvUid } },
  { kind: 'session', collection: '_Session', where: { _p_user: userPointer(mvUid), ...OWN_SESSIONS } },
  { kind: 'app', collection: 'auth.app_grants', where: { mvUid } },
  { kind: 'helper', collection: HELPER_AGREEMENTS, where: { mvUid } },
  { kind: 'helping', collection: HELPER_AGREEMENTS, where: { helperId: mvUid } },
  { kind: 'handover', collection: PROFILE_COLLECTIONS.handover, where: { to: mvUid } },
  historySource(HELPER_AGREEMENTS, mvUid),
  ...Object.entries(PROFILE_COLLECTIONS).flatMap(([kind, collection]) => [
    { kind, collection, where: { _id: ownedIdRange(mvUid) } },
    historySource(collection, mvUid),
  ]),
  historySource('_User', mvUid),
]

/** Characters that are sent together. */
const MAX_PART_LENGTH = 64 * 1024

/** An export has its own time limit, because its client decides how fast it reads. */
const EXPORT_QUERY_OPTIONS = { maxTimeMS: 600_000 }

const collectionOf = (db: Db, collection: string): Collection<StoredDocument> =>
  db.collection<StoredDocument>(collection)

const historySource = (collection: string, mvUid: string): ExportSource => ({
  kind: 'history',
  collection: 'history.changes',
  where: { _id: ownedIdRange(`${collection}/${mvUid}`) },
})

/**
 * Exports everything stored about a person, as one line of JSON for each document: account, profile with its
 * history, conversations with other users, participations, read marks, and the EHRs about the person with all records
 * that the caller may read. Leaves out passwords, tokens and permissions. Yields several lines at a time, between which others run.
 */
export async function* exportPerson(
  context: StoreContext,
  caller: Caller,
  mvUid: string,
): AsyncGenerator<string> {
  const slice = new TimeSlice({ admission: caller.admission })
  let lines = ''
  for await (const line of exportLines(context, caller, mvUid, slice)) {
    lines += line
    if (!slice.isOver() && lines.length < MAX_PART_LENGTH) continue
    await slice.yieldToOthers()
    yield lines
    lines = ''
    slice.restart()
  }
  yield lines
}

async function* exportLines(
  context: StoreContext,
  caller: Caller,
  mvUid: string,
  slice: TimeSlice,
): AsyncGenerator<string> {
  for (const { kind, collection, where } of exportSourcesOf(mvUid))
    for await (const document of collectionOf(context.db, collection).find(where, EXPORT_QUERY_OPTIONS))
      yield toJsonLine(kind, document)
  const reading = { context, caller, slice }
  if (caller.userId === mvUid) yield* ownLines(reading)
  const ehrs = { subjectId: mvUid, ...permissionFilter('_rperm', caller) }
  const ehrIds: string[] = []
  let createdAt = new Date()
  for await (const ehr of readBatches(reading, { collection: 'Ehr', where: ehrs })) {
    ehrIds.push(ehr._id)
    const ehrCreatedAt = ehr._created_at as Date
    if (ehrCreatedAt < createdAt) createdAt = ehrCreatedAt
    yield toJsonLine('Ehr', ehr)
  }
  for (const kind of await findEhrCollections(context)) {
    const where = { ehrId: { $in: ehrIds }, ...permissionFilter('_rperm', caller) }
    yield* recordLines(reading, kind, where)
  }
  // Queries over every EHR concern only those who have one.
  if (ehrIds.length === 0) return
  for await (const where of iterateAccessFilters(context.db, ehrIds, createdAt)) {
    const accesses = auditEntryCollection(context.db).find(where, EXPORT_QUERY_OPTIONS)
    for await (const entry of accesses) yield toJsonLine('access', { ...toAuditEntry(entry) })
  }
}

/** What the service stores about the caller among the data of others, for the caller alone. */
async function* ownLines(reading: ExportReading): AsyncGenerator<string> {
  const { userId } = reading.caller
  const participations = { collection: 'plan.participants', where: { mvUid: userId } }
  for await (const participation of readBatches(reading, participations))
    yield toJsonLine('participation', participation)
  const readMarks = collectionOf(reading.context.db, 'chat.read').find({ userId }, EXPORT_QUERY_OPTIONS)
  for await (const mark of readMarks) yield toJsonLine('readMark', mark)
  const conversations = { collection: 'ChatTopic', where: { about: 'network', _wperm: userId } }
  for await (const topic of readBatches(reading, conversations)) {
    yield toJsonLine('ChatTopic', topic)
    yield* recordLines(reading, 'ChatMessage', { topicId: topic._id })
  }
}

/** The records of a kind, with the former versions of the caller's own messages. */
async function* recordLines(
  reading: ExportReading,
  kind: string,
  where: ExportSource['where'],
): AsyncGenerator<string> {
  const { context, caller } = reading
  for await (const document of readBatches(reading, { collection: kind, where })) {
    yield toJsonLine(kind, document)
    if (kind !== 'ChatMessage' || !isChangedByCaller(document, caller)) continue
    const { _id: id, ehrId } = document
    const message = { collection: kind, id, ehrId: ehrId as string | undefined }
    for await (const change of iterateHistory(context.db, message)) yield toJsonLine('history', { ...change })
  }
}

/** Whether the caller, or somebody for them, has written this message and has changed it. */
const isChangedByCaller = ({ version, createdBy, onBehalfOf }: StoredDocument, { userId }: Caller) =>
  Number(version) > 1 && [createdBy, onBehalfOf].includes(userId)

/** The collections that may contain data of an EHR: those of the kinds, and all with the name of a class. */
async function findEhrCollections({ db, contents }: StoreContext): Promise<string[]> {
  const collections = await db.listCollections({}, { nameOnly: true }).toArray()
  const names = collections
    .map(({ name }) => name)
    .filter((name) => /^[A-Z]\w*$/.test(name) && name !== 'Ehr')
  return [...new Set([...contents.Ehr, ...names])].sort()
}

/** Number of documents audited together before the first of them is sent, and their megabytes: the client decides how soon. */
const EXPORT_BATCH_SIZE = 500
const EXPORT_BATCH_MEGABYTES = 1
/** Number of documents that one command reads. */
const EXPORT_CURSOR_BATCH_SIZE = 50

interface ExportReading {
  context: StoreContext
  caller: Caller
  slice: TimeSlice
}

async function* readBatches(
  { context: { db, audit }, caller, slice }: ExportReading,
  { collection, where }: Pick<ExportSource, 'collection' | 'where'>,
): AsyncGenerator<StoredDocument> {
  const resource = { collection, ehr: collection === 'Ehr' ? 'id' : 'ehrId' }
  const report = async (batch: StoredDocument[]): Promise<void> => {
    const rows = batch.map(({ _id: id, ehrId }) => ({ id, ehrId }))
    await audit.record(...accessesByEhr(resource, caller, { action: 'query', asked: 'export' }, rows))
  }
  let batch: StoredDocument[] = []
  let budget = new ReadBudget(EXPORT_BATCH_MEGABYTES)
  for await (const document of collectionOf(db, collection).find(where, {
    ...EXPORT_QUERY_OPTIONS,
    batchSize: EXPORT_CURSOR_BATCH_SIZE,
  })) {
    batch.push(document)
    if (slice.isOver()) await slice.yieldToOthers()
    if (!budget.isUsedUpBy(document) && batch.length < EXPORT_BATCH_SIZE) continue
    await report(batch)
    yield* batch
    batch = []
    budget = new ReadBudget(EXPORT_BATCH_MEGABYTES)
  }
  if (batch.length === 0) return
  await report(batch)
  yield* batch
}

const toJsonLine = (kind: string, document: StoredDocument): string =>
  `${JSON.stringify({ kind, data: toExported(document) })}\n`

/** Signatures, hashes, and what an app uses once. */
const INTERNAL_FIELDS = new Set(['mac', 'tokenHash', 'nonce'])

const EXPORTED_META_FIELDS: Record<string, string> = {
  _id: 'id',
  _created_at: 'createdAt',
  _updated_at: 'updatedAt',
}

/** Removes the fields that only the service uses, above all secrets: their names begin with `_`. */
function toExported(document: StoredDocument): Record<string, unknown> {
  const fields: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(document)) {
    const name = EXPORTED_META_FIELDS[key] ?? (key.startsWith('_p_') ? key.slice(3) : key)
    if (!name.startsWith('_') && !INTERNAL_FIELDS.has(name))
      fields[name] = key === 'before' && value !== null ? toExported(value as StoredDocument) : value
  }
  return fields
}

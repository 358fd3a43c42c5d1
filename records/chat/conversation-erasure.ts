import type { ClientSession, Filter } from 'mongodb'
import { recordDeletedAccount } from '../accounts/account-deletion.ts'
import { usersOf } from '../accounts/user/user.ts'
import { deleteInBatches, iterateIdBatches } from '../store/batching/transaction-batches.ts'
import { type Caller, serviceCaller } from '../store/documents/caller.ts'
import { documentCollection } from '../store/documents/database.ts'
import { idsWithPrefix } from '../store/documents/ids.ts'
import type { Job } from '../store/documents/job.ts'
import { type ParseDocument, toStoredPermissions } from '../store/documents/parse-format.ts'
import type { JobSteps } from '../store/jobs/background-jobs.ts'
import {
  createHistoryEntry,
  deleteHistories,
  type HistoryEntry,
  historyCollection,
} from '../store/writing/history.ts'
import type { StoreContext } from '../store/writing/transaction.ts'
import { ChatMessage, ChatTopic, conversationsOf } from './chat-kinds.ts'
import { deleteReadMarks } from './read-marks.ts'

/**
 * Erases the topics between a deleted account and other users: without their connection, nobody can read them again. Those
 * who follow changes are told that the topics are gone.
 */
export async function eraseConversations(
  context: Pick<StoreContext, 'db' | 'clock'>,
  { id: mvUid }: Pick<Job, 'id'>,
  { runStep }: JobSteps,
): Promise<void> {
  const topics = documentCollection(context, ChatTopic.collection)
  const messages = documentCollection(context, ChatMessage.collection)
  for await (const topicIds of iterateIdBatches(topics, conversationsOf(mvUid)))
    for (const topicId of topicIds) {
      for await (const ids of iterateIdBatches(messages, { topicId }))
        await runStep(({ session }) => purge(context, ChatMessage, ids, session))
      await runStep(async ({ session, changes }) => {
        const topic = await topics.findOne({ _id: topicId }, { session })
        const lateMessages = await messages.find({ topicId }, { session, projection: { _id: 1 } }).toArray()
        const lateIds = lateMessages.map(({ _id }) => _id)
        await purge(context, ChatMessage, lateIds, session)
        await purge(context, ChatTopic, [topicId], session)
        await deleteReadMarks(context, topicId, session)
        if (topic) changes.push(erasureEntryOf(topic, mvUid, context.clock()))
      })
    }
  await deleteInBatches(historyCollection(context.db), erasureEntriesFor(mvUid))
}

const erasingCaller: Caller = { ...serviceCaller, userId: 'service' }

/** The history entry of an erasure. It names only the other user, who may read it, and has no content. */
function erasureEntryOf(topic: ParseDocument, mvUid: string, at: Date): HistoryEntry {
  const { _id, version, _created_at, _updated_at, about, _wperm = [] } = topic
  const otherUserIds = _wperm.filter((userId) => userId !== mvUid)
  const permissions = toStoredPermissions({ read: otherUserIds, write: [] })
  const before = { _id, version, _created_at, _updated_at, about, ...permissions }
  const removal = { action: 'delete' as const, version: version + 1, before, changed: [] }
  return createHistoryEntry(
    { collection: ChatTopic.collection, id: _id },
    { caller: erasingCaller, at },
    removal,
  )
}

/** The entries about the erasure of topics with other accounts, which name this user. */
const erasureEntriesFor = (mvUid: string): Filter<HistoryEntry> => ({
  _id: idsWithPrefix(`${ChatTopic.collection}/`),
  'before._rperm': mvUid,
})

/**
 * Erases again the accounts whose conversations an earlier version left behind. Nobody can read these: a user of them
 * does not exist any more.
 * @param ending ends the search early
 */
export async function eraseAbandonedConversations(
  { db }: Pick<StoreContext, 'db'>,
  ending: AbortSignal,
): Promise<void> {
  const topics = documentCollection({ db }, ChatTopic.collection)
  const users = { projection: { _wperm: 1 } }
  for await (const ids of iterateIdBatches(topics, { about: 'network', _wperm: { $gt: '' } })) {
    if (ending.aborted) return
    const topicBatch = await topics.find({ _id: { $in: ids } }, users).toArray()
    const userIds = new Set(topicBatch.flatMap(({ _wperm = [] }) => _wperm))
    const existing = usersOf(db).find({ _id: { $in: [...userIds] } }, { projection: { _id: 1 } })
    for await (const { _id } of existing) userIds.delete(_id)
    for (const _id of userIds) await recordDeletedAccount(db, _id)
  }
}

async function purge(
  { db }: Pick<StoreContext, 'db'>,
  { collection }: { collection: string },
  ids: readonly string[],
  session: ClientSession,
): Promise<void> {
  await documentCollection({ db }, collection).deleteMany({ _id: { $in: [...ids] } }, { session })
  const histories = ids.map((id) => ({ collection, id }))
  await deleteHistories(db, histories, session)
}

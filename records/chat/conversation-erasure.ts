import type { ClientSession } from 'mongodb'
import { iterateIdBatches } from '../store/batching/transaction-batches.ts'
import { documentCollection } from '../store/documents/database.ts'
import type { Job } from '../store/documents/job.ts'
import type { JobSteps } from '../store/jobs/background-jobs.ts'
import { deleteHistories } from '../store/writing/history.ts'
import type { StoreContext } from '../store/writing/transaction.ts'
import { ChatMessage, ChatTopic, conversationsOf } from './chat-kinds.ts'
import { deleteReadMarks } from './read-marks.ts'

/** Erases the topics between a deleted account and other users: without their connection, nobody can read them again. */
export async function eraseConversations(
  records: Pick<StoreContext, 'db'>,
  { id: mvUid }: Pick<Job, 'id'>,
  { runStep }: JobSteps,
): Promise<void> {
  const messages = documentCollection(records, ChatMessage.collection)
  for await (const topicIds of iterateIdBatches(
    documentCollection(records, ChatTopic.collection),
    conversationsOf(mvUid),
  ))
    for (const topicId of topicIds) {
      for await (const ids of iterateIdBatches(messages, { topicId }))
        await runStep(({ session }) => purge(records, ChatMessage, ids, session))
      await runStep(async ({ session }) => {
        const late = await messages.find({ topicId }, { session, projection: { _id: 1 } }).toArray()
        const lateIds = late.map(({ _id }) => _id)
        await purge(records, ChatMessage, lateIds, session)
        await purge(records, ChatTopic, [topicId], session)
        await deleteReadMarks(records, topicId, session)
      })
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

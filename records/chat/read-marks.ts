import type { ClientSession, Collection, Filter, IndexDescription } from 'mongodb'
import { iterateIdBatches } from '../store/batching/transaction-batches.ts'
import { documentCollection } from '../store/documents/database.ts'
import type { ParseDocument } from '../store/documents/parse-format.ts'
import type { StoreContext } from '../store/writing/transaction.ts'
import { ChatMessage, ChatTopic } from './chat-kinds.ts'

/** The position up to which a user has read a topic, and the time of the last reminder by mail. */
export interface ReadMark extends ReadPosition {
  _id: string
  topicId: string
  userId: string
  mailedAt?: Date
}

interface ReadPosition {
  /** Creation time of the last message that the user has read. */
  readTo?: Date
  /** Its id, if more messages of the same millisecond follow; absent: the user has read all of them. */
  readToId?: string
}

const EPOCH = new Date(0)

/** Messages are in the order of time and id, as lists show them. */
const isAfter = (at: Date, { readTo = EPOCH, readToId }: ReadPosition): boolean =>
  at > readTo || (readToId !== undefined && at.getTime() === readTo.getTime())

/** Selects the messages after a position. */
export const messagesAfter = ({ readTo = EPOCH, readToId }: ReadPosition): Filter<ParseDocument> =>
  readToId === undefined
    ? { _created_at: { $gt: readTo } }
    : { _created_at: { $gte: readTo }, $or: [{ _created_at: { $gt: readTo } }, { _id: { $gt: readToId } }] }

/** Counting stops here. */
const MAX_UNREAD_COUNT = 100
/** A query for each topic would take the connections of other requests. */
const TOPICS_PER_COMMAND = 100

/** The position up to which each user has read each topic. */
export class ReadMarks {
  readonly #context: Pick<StoreContext, 'db'>

  constructor(context: Pick<StoreContext, 'db'>) {
    this.#context = context
  }

  indexes(): [collection: string, IndexDescription[]] {
    return [READ_MARKS_COLLECTION, [{ key: { topicId: 1 } }, { key: { userId: 1 } }]]
  }

  /** The topics with a message that the user has not read. */
  async findUnread(
    userId: string,
    topics: readonly (readonly [topicId: string, lastMessageAt: Date | undefined])[],
  ): Promise<string[]> {
    const positions = await this.#findPositions(
      userId,
      topics.map(([id]) => id),
    )
    return topics.flatMap(([id, last]) => (last && isAfter(last, positions.get(id) ?? {}) ? [id] : []))
  }

  /** Counts a user's unread messages by others, by topic. */
  async countUnread(userId: string, topicIds: readonly string[]): Promise<Map<string, number>> {
    const counts = new Map<string, number>()
    for (let i = 0; i < topicIds.length; i += TOPICS_PER_COMMAND)
      for (const [id, count] of await this.#countIn(userId, topicIds.slice(i, i + TOPICS_PER_COMMAND)))
        counts.set(id, count)
    return counts
  }

  async #countIn(userId: string, topicIds: readonly string[]): Promise<[string, number][]> {
    const positions = await this.#findPositions(userId, topicIds)
    const fromOthers = { createdBy: { $ne: userId }, deleted: { $ne: true } }
    const [first = [], ...rest] = topicIds.map((topicId) => [
      { $match: { topicId, ...messagesAfter(positions.get(topicId) ?? {}), ...fromOthers } },
      { $limit: MAX_UNREAD_COUNT },
      { $group: { _id: '$topicId', count: { $sum: 1 } } },
    ])
    const messages = documentCollection(this.#context, ChatMessage.collection)
    const more = rest.map((pipeline) => ({ $unionWith: { coll: messages.collectionName, pipeline } }))
    const counts = await messages.aggregate<{ _id: string; count: number }>([...first, ...more]).toArray()
    return counts.map(({ _id, count }) => [_id, count])
  }

  async #findPositions(userId: string, topicIds: readonly string[]): Promise<Map<string, ReadPosition>> {
    const ids = topicIds.map((topicId) => readMarkIdOf(topicId, userId))
    const marks = await this.#marks.find({ _id: { $in: ids } }).toArray()
    return new Map(marks.map((mark) => [mark.topicId, mark]))
  }

  /** A mark never moves back: the requests of two devices may arrive in any order. */
  async markRead(
    topicId: string,
    userId: string,
    { _id, _created_at: readTo }: ParseDocument,
  ): Promise<void> {
    const messages = documentCollection(this.#context, ChatMessage.collection)
    const follows = await messages.findOne({ topicId, _created_at: readTo, _id: { $gt: _id } })
    const isLater = {
      $or: [
        { $lt: ['$readTo', readTo] },
        { $and: [{ $eq: ['$readTo', readTo] }, { $lt: ['$readToId', _id] }, '$readToId'] },
      ],
    }
    const next = { readTo, readToId: follows ? _id : '$$REMOVE' }
    const moved = Object.entries(next).map(([name, value]) => [name, { $cond: [isLater, value, `$${name}`] }])
    const change = { topicId, userId, ...Object.fromEntries(moved) }
    await this.#marks.updateOne({ _id: readMarkIdOf(topicId, userId) }, [{ $set: change }], { upsert: true })
  }

  async findForUsers(
    topicId: string,
    userIds: readonly string[],
    session: ClientSession,
  ): Promise<Map<string, ReadMark>> {
    const ids = userIds.map((userId) => readMarkIdOf(topicId, userId))
    const marks = await this.#marks.find({ _id: { $in: ids } }, { session }).toArray()
    return new Map(marks.map((mark) => [mark.userId, mark]))
  }

  async recordMail(topicId: string, userId: string, mailedAt: Date, session: ClientSession): Promise<void> {
    const change = { $set: { mailedAt }, $setOnInsert: { topicId, userId } }
    await this.#marks.updateOne({ _id: readMarkIdOf(topicId, userId) }, change, { upsert: true, session })
  }

  /** Deletes the marks of a user whose account is deleted. */
  async forget(session: ClientSession, userId: string): Promise<void> {
    await this.#marks.deleteMany({ userId }, { session })
  }

  /** Deletes everybody's marks of the topics of an EHR that is purged. */
  async deleteOfEhr(ehrId: string): Promise<void> {
    const topics = documentCollection(this.#context, ChatTopic.collection)
    for await (const topicIds of iterateIdBatches(topics, { ehrId }))
      await this.#marks.deleteMany({ topicId: { $in: topicIds } })
  }

  get #marks(): Collection<ReadMark> {
    return readMarksOf(this.#context)
  }
}

/** Contains a dot, so no class can have this name and the class family never reaches the collection. */
const READ_MARKS_COLLECTION = 'chat.read'

const readMarksOf = ({ db }: Pick<StoreContext, 'db'>): Collection<ReadMark> =>
  db.collection<ReadMark>(READ_MARKS_COLLECTION)

/** Deletes everybody's marks of a purged topic. */
export async function deleteReadMarks(
  context: Pick<StoreContext, 'db'>,
  topicId: string,
  session: ClientSession,
): Promise<void> {
  await readMarksOf(context).deleteMany({ topicId }, { session })
}

const readMarkIdOf = (topicId: string, userId: string): string => `${topicId}/${userId}`

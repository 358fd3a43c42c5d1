import type { ClientSession, Collection, IndexDescription } from 'mongodb'
import { documentsOf } from '../store/documents/database.ts'
import type { Records } from '../store/writing/transaction.ts'
import { ChatMessage } from './chat-kinds.ts'

/** How far somebody has read a topic, and when they were last mailed about it. */
interface ReadMark {
  _id: string
  topicId: string
  userId: string
  /** When the last message was written that they have read. */
  readTo?: Date
  mailedAt?: Date
}

/** Nobody counts further. */
const MOST_UNREAD = 100

const NEVER = new Date(0)

/** Who has read which topic how far. */
export class ReadMarks {
  readonly #records: Pick<Records, 'db'>

  constructor(records: Pick<Records, 'db'>) {
    this.#records = records
  }

  indexes(): [collection: string, IndexDescription[]] {
    return [COLLECTION, [{ key: { topicId: 1 } }, { key: { userId: 1 } }]]
  }

  /** How many messages of others somebody has not read, by topic. */
  async unread(userId: string, topicIds: readonly string[]): Promise<Map<string, number>> {
    const ids = topicIds.map((topicId) => idOf(topicId, userId))
    const marks = await this.#marks.find({ _id: { $in: ids } }).toArray()
    const readTo = new Map(marks.map((mark) => [mark.topicId, mark.readTo]))
    const counts = topicIds.map(async (topicId): Promise<[string, number]> => {
      const others = { createdBy: { $ne: userId }, deleted: { $ne: true } }
      const since = { topicId, _created_at: { $gt: readTo.get(topicId) ?? NEVER }, ...others }
      const messages = documentsOf(this.#records, ChatMessage.collection)
      return [topicId, await messages.countDocuments(since, { limit: MOST_UNREAD })]
    })
    return new Map(await Promise.all(counts))
  }

  /** It never goes back: two devices may say so in any order. */
  async read(topicId: string, userId: string, readTo: Date): Promise<void> {
    const change = { $max: { readTo }, $setOnInsert: { topicId, userId } }
    await this.#marks.updateOne({ _id: idOf(topicId, userId) }, change, { upsert: true })
  }

  async of(
    topicId: string,
    userIds: readonly string[],
    session: ClientSession,
  ): Promise<Map<string, ReadMark>> {
    const ids = userIds.map((userId) => idOf(topicId, userId))
    const found = await this.#marks.find({ _id: { $in: ids } }, { session }).toArray()
    return new Map(found.map((mark) => [mark.userId, mark]))
  }

  async mailed(topicId: string, userId: string, mailedAt: Date, session: ClientSession): Promise<void> {
    const change = { $set: { mailedAt }, $setOnInsert: { topicId, userId } }
    await this.#marks.updateOne({ _id: idOf(topicId, userId) }, change, { upsert: true, session })
  }

  /** What is kept of somebody whose account ends. */
  async forget(session: ClientSession, userId: string): Promise<void> {
    await this.#marks.deleteMany({ userId }, { session })
  }

  get #marks(): Collection<ReadMark> {
    return this.#records.db.collection<ReadMark>(COLLECTION)
  }
}

/** A name that no class can have: the class family never reaches it. */
const COLLECTION = 'chat.read'

const idOf = (topicId: string, userId: string): string => `${topicId}/${userId}`

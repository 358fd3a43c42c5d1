import type { ClientSession } from 'mongodb'
import type { SendMail } from '../accounts/user/mails.ts'
import { usersOf } from '../accounts/user/user.ts'
import { usersWithRoles } from '../ehrs/rights/roles.ts'
import { documentsOf, together } from '../store/documents/database.ts'
import type { ParseDocument } from '../store/documents/parse-format.ts'
import type { Records } from '../store/writing/transaction.ts'
import { ChatMessage, ChatTopic } from './chat-kinds.ts'
import { PATIENCE_MS } from './chats.ts'
import type { ReadMarks } from './read-marks.ts'

const DAY_MS = 86_400_000
const MOST_AT_ONCE = 100

/** Mails those who have not read what was written an hour ago, at most once a day for each topic. */
export class Reminders {
  readonly #records: Records
  readonly #marks: ReadMarks
  readonly #sendMail: SendMail

  constructor({ records, marks }: { records: Records; marks: ReadMarks }, sendMail: SendMail) {
    this.#records = records
    this.#marks = marks
    this.#sendMail = sendMail
  }

  /** Of all topics in which that may be so by now. Of several instances that do so at once, one reminds. */
  async send(now: Date): Promise<void> {
    const due = documentsOf(this.#records, ChatTopic.collection).find(
      { remindAt: { $lte: now } },
      { projection: { _id: 1 } },
    )
    for (const { _id } of await due.sort({ remindAt: 1 }).limit(MOST_AT_ONCE).toArray())
      await together(this.#records, (session) => this.#remind(session, _id, now))
  }

  async #remind(session: ClientSession, topicId: string, now: Date): Promise<void> {
    const topics = documentsOf(this.#records, ChatTopic.collection)
    const topic = await topics.findOne({ _id: topicId, remindAt: { $lte: now } }, { session })
    if (!topic) return
    const dues = [await this.#dueByOthers(topic, now, session)]
    const young = { topicId, _created_at: { $gt: new Date(now.getTime() - PATIENCE_MS) } }
    const messages = documentsOf(this.#records, ChatMessage.collection)
    const next = await messages.findOne(young, { session, sort: { _created_at: 1 } })
    if (next) dues.push(new Date(next._created_at.getTime() + PATIENCE_MS))
    const [first] = dues.flatMap((due) => due ?? []).sort((a, b) => a.getTime() - b.getTime())
    const change = first ? { $set: { remindAt: first } } : { $unset: { remindAt: '' } }
    await topics.updateOne({ _id: topicId }, change as object, { session })
  }

  /** @returns when the first of those may be mailed who had a mail less than a day ago */
  async #dueByOthers(topic: ParseDocument, now: Date, session: ClientSession): Promise<Date | undefined> {
    const readers = await this.#readersOf(topic)
    const marks = await this.#marks.of(topic._id, readers, session)
    let due: Date | undefined
    for (const userId of readers) {
      const { readTo = new Date(0), mailedAt } = marks.get(userId) ?? {}
      if (!(await this.#hasUnread(topic._id, userId, { readTo, mailedAt }, now, session))) continue
      const free = mailedAt && new Date(mailedAt.getTime() + DAY_MS)
      if (free && free > now) {
        if (!due || free < due) due = free
        continue
      }
      await this.#marks.mailed(topic._id, userId, now, session)
      const mail = { to: { mvUid: userId }, template: 'chat', language: undefined, data: {} } as const
      await this.#sendMail(mail, session)
    }
    return due
  }

  /** Something of others that was written an hour ago, and since the last mail. */
  async #hasUnread(
    topicId: string,
    userId: string,
    { readTo, mailedAt }: { readTo: Date; mailedAt?: Date | undefined },
    now: Date,
    session: ClientSession,
  ): Promise<boolean> {
    const told = mailedAt && new Date(mailedAt.getTime() - PATIENCE_MS)
    const since = told && told > readTo ? told : readTo
    const period = { $gt: since, $lte: new Date(now.getTime() - PATIENCE_MS) }
    const others = { topicId, _created_at: period, createdBy: { $ne: userId }, deleted: { $ne: true } }
    return (await documentsOf(this.#records, ChatMessage.collection).findOne(others, { session })) !== null
  }

  /** The users who may read a topic and have not switched these mails off. */
  async #readersOf({ _rperm }: ParseDocument): Promise<string[]> {
    const roles = _rperm.flatMap((who) => /^role:(.*)$/.exec(who)?.[1] ?? [])
    const named = _rperm.filter((who) => /^[A-Za-z0-9]{10}$/.test(who))
    const all = [...new Set([...named, ...(await usersWithRoles(this.#records, roles))])]
    const wanting = { _id: { $in: all }, chatMails: { $ne: false } }
    const found = await usersOf(this.#records.db)
      .find(wanting, { projection: { _id: 1 } })
      .toArray()
    return found.map(({ _id }) => _id)
  }
}

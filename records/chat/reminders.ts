import type { ClientSession, Filter } from 'mongodb'
import { DAY_MS } from '../../schemas/time/durations.ts'
import type { SendMail } from '../accounts/user/mails.ts'
import { usersOf } from '../accounts/user/user.ts'
import { findUsersWithRoles } from '../ehrs/rights/roles.ts'
import { documentCollection, runTransaction } from '../store/documents/database.ts'
import type { ParseDocument } from '../store/documents/parse-format.ts'
import { DueRecords, runPages } from '../store/jobs/due-records.ts'
import type { StoreContext } from '../store/writing/transaction.ts'
import { ChatMessage, ChatTopic } from './chat-kinds.ts'
import { REMINDER_DELAY_MS } from './chats.ts'
import { messagesAfter, type ReadMark, type ReadMarks } from './read-marks.ts'

/** Mails users about messages that they have not read for an hour, at most once a day for each topic. */
export class Reminders {
  readonly #context: StoreContext
  readonly #marks: ReadMarks
  readonly #sendMail: SendMail
  readonly #dueTopics: DueRecords

  constructor({ context, marks }: { context: StoreContext; marks: ReadMarks }, sendMail: SendMail) {
    this.#context = context
    this.#marks = marks
    this.#sendMail = sendMail
    this.#dueTopics = new DueRecords(context, ChatTopic.collection, 'remindAt')
  }

  /**
   * Sends the due reminders of all topics. If several instances run at once, only one mails each reminder.
   * @throws AggregateError with the errors of the topics that failed, after all others
   */
  send(now: Date, ending?: AbortSignal): Promise<void> {
    const runPage = () =>
      this.#dueTopics.runPage(now, (id) =>
        runTransaction(this.#context, (session) => this.#remind(session, id, now)),
      )
    return runPages(runPage, 'Some reminders could not be sent.', ending)
  }

  async #remind(session: ClientSession, topicId: string, now: Date): Promise<void> {
    const topics = documentCollection(this.#context, ChatTopic.collection)
    const topic = await topics.findOne({ _id: topicId, remindAt: { $lte: now } }, { session })
    if (!topic) return
    const dues = [await this.#mailReaders(topic, now, session)]
    const young = { topicId, _created_at: { $gt: new Date(now.getTime() - REMINDER_DELAY_MS) } }
    const messages = documentCollection(this.#context, ChatMessage.collection)
    const next = await messages.findOne(young, { session, sort: { _created_at: 1 } })
    if (next) dues.push(new Date(next._created_at.getTime() + REMINDER_DELAY_MS))
    const [first] = dues.flatMap((due) => due ?? []).sort((a, b) => a.getTime() - b.getTime())
    const change = first ? { $set: { remindAt: first } } : { $unset: { remindAt: '' } }
    await topics.updateOne({ _id: topicId }, change as object, { session })
  }

  /** @returns the earliest time for another mail to a user who already got one within a day */
  async #mailReaders(topic: ParseDocument, now: Date, session: ClientSession): Promise<Date | undefined> {
    const readers = await this.#readersOf(topic)
    const marks = await this.#marks.findForUsers(topic._id, readers, session)
    let due: Date | undefined
    for (const userId of readers) {
      const mark = marks.get(userId)
      if (!(await this.#hasUnread(topic._id, userId, mark ?? {}, now, session))) continue
      const { mailedAt } = mark ?? {}
      const free = mailedAt && new Date(mailedAt.getTime() + DAY_MS)
      if (free && free > now) {
        if (!due || free < due) due = free
        continue
      }
      await this.#marks.recordMail(topic._id, userId, now, session)
      const mail = { to: { mvUid: userId }, template: 'chat', language: undefined, data: {} } as const
      await this.#sendMail(mail, session)
    }
    return due
  }

  /**
   * Whether there is an unread message of another user, at least an hour old, that the last mail did not
   * cover.
   */
  async #hasUnread(
    topicId: string,
    userId: string,
    mark: Partial<ReadMark>,
    now: Date,
    session: ClientSession,
  ): Promise<boolean> {
    const { mailedAt = new Date(0) } = mark
    const [from, to] = [mailedAt, now].map((time) => new Date(time.getTime() - REMINDER_DELAY_MS))
    const period = { $gt: from, $lte: to }
    const fromOthers = { topicId, createdBy: { $ne: userId }, deleted: { $ne: true } }
    const due = {
      ...fromOthers,
      $and: [{ _created_at: period }, messagesAfter(mark)],
    } as Filter<ParseDocument>
    const messages = documentCollection(this.#context, ChatMessage.collection)
    return (await messages.findOne(due, { session })) !== null
  }

  /** The users who may read a topic and have not switched these mails off. */
  async #readersOf({ _rperm }: ParseDocument): Promise<string[]> {
    const roles = _rperm.flatMap((who) => /^role:(.*)$/.exec(who)?.[1] ?? [])
    const userIds = _rperm.filter((who) => /^[A-Za-z0-9]{10}$/.test(who))
    const readerIds = [...new Set([...userIds, ...(await findUsersWithRoles(this.#context, roles))])]
    const wanting = { _id: { $in: readerIds }, chatMails: { $ne: false } }
    const mailedUsers = await usersOf(this.#context.db)
      .find(wanting, { projection: { _id: 1 } })
      .toArray()
    return mailedUsers.map(({ _id }) => _id)
  }
}

import type { Static } from '@sinclair/typebox'
import type { ClientSession, IndexDescription } from 'mongodb'
import type { Attachment, ChatSubjectType } from '../../schemas/chat/chat.ts'
import { ServiceError } from '../../schemas/errors.ts'
import type { Violation } from '../../schemas/validation/violations.ts'
import { requireNoViolations } from '../ehr-records/refusals/refusals.ts'
import type { RecordChange } from '../history/changes.ts'
import type { Connections } from '../profiles/connections.ts'
import { createBatchedLookup } from '../store/batching/batched-lookup.ts'
import { authorOf, type Caller, isReadableByHelper } from '../store/documents/caller.ts'
import { canRead, documentCollection } from '../store/documents/database.ts'
import { createParseFormat, type SavedRecord } from '../store/documents/parse-format.ts'
import type { Page, PageQuery, PageRequest } from '../store/reading/pages.ts'
import { Store } from '../store/store.ts'
import type { ExpectedVersions, UpdateConditions } from '../store/write-decider.ts'
import type { RecordParent } from '../store/writing/batch-writer.ts'
import { createOrFindExisting } from '../store/writing/create-or-find-existing.ts'
import { lockExclusive } from '../store/writing/ehr-locks.ts'
import { runAuditedReads, runStoreTransaction, type StoreContext } from '../store/writing/transaction.ts'
import { ChatMessage, ChatTopic } from './chat-kinds.ts'
import { chatTextViolations, EDIT_PERIOD_MS } from './chat-rules.ts'
import { type ChatSubject, findChatSubject, requireChatSubject } from './chat-subjects.ts'
import { ReadMarks } from './read-marks.ts'

export type StoredTopic = SavedRecord<Static<typeof ChatTopic.schema>>
export type StoredMessage = SavedRecord<Static<typeof ChatMessage.schema>>

/** Display names by user id; users without a name are missing. */
type NamesById = ReadonlyMap<string, string>

/** A topic as one user sees it. */
export interface TopicView {
  topic: StoredTopic
  unread: number
  names: NamesById
}

interface NewMessage {
  text: string
  attachments?: readonly Attachment[] | undefined
  replyTo?: string | null | undefined
}

/** The key of a chat subject. */
export interface ChatSubjectKey {
  about: ChatSubjectType
  id: string
}

interface ChatDependencies {
  connections: Pick<Connections, 'areConnected' | 'letTalk'>
  persons: { namesOf(mvUids: readonly string[]): Promise<NamesById> }
  /** The collection of an attachment's type; undefined if attachments of this type are not allowed. */
  collectionOf(type: string): string | undefined
}

type Authored = Pick<StoredMessage, 'createdBy' | 'onBehalfOf'>

const NO_NAMES: ReadonlyMap<string, string> = new Map()

/** No reminder is mailed for a message before this time; most messages have been read by then. */
export const REMINDER_DELAY_MS = 3_600_000

/** Conversations between users who may see the same subject. */
export class Chats {
  readonly context: StoreContext
  readonly #dependencies: ChatDependencies
  readonly #topics
  readonly #messages
  readonly marks: ReadMarks
  /** A message as it is now; many streams ask for the same one at the same moment. */
  readonly #findMessage

  constructor(context: StoreContext, dependencies: ChatDependencies) {
    this.context = context
    this.#dependencies = dependencies
    this.#topics = new Store(context, ChatTopic)
    this.#messages = new Store(context, ChatMessage)
    this.marks = new ReadMarks(context)
    const messages = documentCollection(context, ChatMessage.collection)
    this.#findMessage = createBatchedLookup((ids) => messages.find({ _id: { $in: ids } }).toArray())
  }

  indexes(): [collection: string, IndexDescription[]][] {
    return [this.#topics.indexes(), this.#messages.indexes(), this.marks.indexes()]
  }

  /** Lists topics, most recent message first. @throws NotFound if the caller may not see the subject */
  async list(caller: Caller, subjectKey: ChatSubjectKey, page: PageRequest): Promise<Page<TopicView>> {
    const subject = await this.#subject(caller, subjectKey)
    const { about, aboutId, ehrId } = subject
    const where = { about, aboutId, ehrId } as PageQuery<Static<typeof ChatTopic.schema>>['where']
    const topics = await this.#topics.list(caller, 'ofObject', { where, ...page })
    return { ...topics, items: await this.#toViews(caller, subject, topics.items) }
  }

  /**
   * Starts a topic with its first message.
   * @param ids the ids of topic and message
   * @throws NotFound; RuleViolated
   */
  async start(
    caller: Caller,
    subjectKey: ChatSubjectKey,
    { title, ...content }: NewMessage & { title: string },
    ids: { topicId: string; messageId: string },
  ): Promise<TopicView> {
    const subject = await this.#subject(caller, subjectKey)
    requireNoViolations(chatTextViolations('title', title))
    await this.#requireWritable(caller, subject, content)
    const { topicId, messageId } = ids
    const topic = await createOrFindExisting(
      () =>
        runStoreTransaction(this.context, async (tx) => {
          // The lock prevents that the subject is deleted at the same time.
          if (subject.ehrId !== undefined) await lockExclusive(this.context, tx, [subject.ehrId])
          else await this.#dependencies.connections.letTalk(tx, caller.userId, subjectKey.id)
          const { permissions } = await this.#subject(caller, subjectKey)
          const write = [...new Set([...permissions.write, caller.userId])]
          const at = this.context.clock().toISOString()
          const topic = {
            ...parentFieldsOf(subject),
            title,
            ...chatAuthorOf(caller),
            lastMessageAt: at,
            closed: false,
          }
          const newTopic = await this.#topics.create(
            caller,
            topic as never,
            { read: permissions.read, write },
            { tx, id: topicId },
          )
          const message = { ...this.#message(caller, subject, topicId, content), id: messageId }
          const readers = { read: permissions.read, write: [caller.userId] }
          await this.#messages.create(caller, message as never, readers, { tx, id: messageId })
          await this.#scheduleReminder(topicId, tx.session)
          return newTopic
        }),
      () => this.#topic(caller, subject, topicId),
    )
    return (await this.#toViews(caller, subject, [topic]))[0] as TopicView
  }

  /** A topic with its messages, newest last; pages go backwards. @throws NotFound */
  async show(caller: Caller, subjectKey: ChatSubjectKey, topicId: string, { limit, cursor }: PageRequest) {
    const subject = await this.#subject(caller, subjectKey)
    const where = { topicId, ehrId: subject.ehrId }
    const [topic, page] = await runAuditedReads(this.context, (tx) =>
      Promise.all([
        this.#topic(caller, subject, topicId, tx),
        this.#messages.list(caller, 'ofTopic', { where, order: 'desc', limit, cursor }, { tx }),
      ]),
    )
    const messages = page.items.reverse()
    const [unread, names] = await Promise.all([
      this.marks.countUnread(authorOf(caller).userId, [topicId]),
      this.#namesOf(subject, [topic, ...messages]),
    ])
    const view = { topic, unread: unread.get(topicId) ?? 0, names }
    return { ...view, messages, older: page.next, newer: page.prev ?? null }
  }

  /** @throws NotFound; RuleViolated, also when the topic is closed */
  async post(
    caller: Caller,
    subjectKey: ChatSubjectKey,
    topicId: string,
    content: NewMessage,
    id: string,
  ): Promise<{ message: StoredMessage; names: NamesById }> {
    const subject = await this.#subject(caller, subjectKey)
    await this.#requireWritable(caller, subject, content, topicId)
    const message = this.#message(caller, subject, topicId, content)
    const target = topicInsertTarget(caller, subject, topicId)
    const storedMessage = await createOrFindExisting(
      () => this.#messages.create(caller, message as never, target, { id }),
      () => this.#messages.get(caller, { id }),
    )
    return { message: storedMessage, names: await this.#namesOf(subject, [storedMessage]) }
  }

  /** @throws NotFound */
  async getMessage(caller: Caller, subjectKey: ChatSubjectKey, { topicId, messageId }: MessageKey) {
    const subject = await this.#subject(caller, subjectKey)
    await this.#requireTopic(caller, subject, topicId)
    const message = await this.#messages.get(caller, { id: messageId, topicId, ehrId: subject.ehrId })
    return { message, names: await this.#namesOf(subject, [message]) }
  }

  /**
   * @throws NotFound; Forbidden for another author's message; PreconditionFailed; RuleViolated after the edit
   * period
   */
  async edit(
    caller: Caller,
    subjectKey: ChatSubjectKey,
    key: MessageKey,
    text: string,
    expected: ExpectedVersions,
  ) {
    const change = (current: StoredMessage): StoredMessage => {
      const isTooLate = this.context.clock().getTime() - Date.parse(current.createdAt) > EDIT_PERIOD_MS
      requireNoViolations([
        ...chatTextViolations('text', text),
        ...(current.deleted
          ? [{ path: 'text', code: 'deleted', message: 'cannot be changed because the message was deleted' }]
          : []),
        ...(isTooLate
          ? [{ path: 'text', code: 'late', message: 'can be changed within 15 minutes only' }]
          : []),
      ])
      return { ...current, text, editedAt: this.context.clock().toISOString() }
    }
    return this.#change(caller, subjectKey, key, change, { expected })
  }

  /**
   * Replaces a message by a tombstone. Repeating it changes nothing.
   * @throws NotFound; Forbidden for another author's message; PreconditionFailed
   */
  async erase(
    caller: Caller,
    subjectKey: ChatSubjectKey,
    key: MessageKey,
    expected: ExpectedVersions,
  ): Promise<void> {
    const stone = (current: StoredMessage): StoredMessage => ({
      ...current,
      text: '',
      attachments: [],
      deleted: true,
    })
    await this.#change(caller, subjectKey, key, stone, { expected, skipUnchanged: true })
  }

  /**
   * Marks a message and all earlier ones as read.
   * @throws NotFound; RuleViolated for a message of another topic
   */
  async markRead(
    caller: Caller,
    subjectKey: ChatSubjectKey,
    topicId: string,
    messageId?: string | null,
  ): Promise<void> {
    const subject = await this.#subject(caller, subjectKey)
    await this.#topic(caller, subject, topicId)
    const messages = documentCollection(this.context, ChatMessage.collection)
    const which = { topicId, ...(messageId && { _id: messageId }) }
    const message = await messages.findOne(which, {
      sort: { _created_at: -1, _id: -1 },
      projection: { _created_at: 1 },
    })
    if (message) return this.marks.markRead(topicId, authorOf(caller).userId, message)
    if (messageId) requireNoViolations([unknownMessageViolation('messageId')])
  }

  /** The topic of a subscription to a chat topic. @throws NotFound */
  async subscriptionTopicOf(caller: Caller, subjectKey: ChatSubjectKey, topicId: string) {
    const subject = await this.#subject(caller, subjectKey)
    await this.#topic(caller, subject, topicId)
    const { ehrId = null } = subject
    return {
      concerns: (change: Pick<RecordChange, 'collection' | 'id' | 'ehrId'>) =>
        change.ehrId === ehrId &&
        (change.collection === ChatMessage.collection ||
          (change.collection === ChatTopic.collection && change.id === topicId)),
      includes: ({ collection, before, after }: RecordChange, caller: Caller) =>
        isReadableByHelper(caller, ChatTopic.helperAct) &&
        (collection === ChatTopic.collection || (after ?? before)?.topicId === topicId),
      isReachable: async (caller: Caller) =>
        isReadableByHelper(caller, ChatTopic.helperAct) &&
        (await canRead(this.context, caller, ChatTopic.collection, { _id: topicId })) &&
        (await this.#isSubjectReachable(caller, subjectKey)),
    }
  }

  /**
   * The message of a change, as it is at present: its author may have withdrawn a text since. Undefined if the change is
   * not about a message.
   */
  async messageOfChange(
    caller: Caller,
    subjectKey: ChatSubjectKey,
    { collection, before, after }: RecordChange,
  ) {
    const document = after ?? before
    if (collection !== ChatMessage.collection || !document) return undefined
    const subject = await this.#subject(caller, subjectKey)
    const present = await this.#findMessage(document._id)
    const message: StoredMessage = messageFormat.fromStored(present ?? document)
    return { message, names: await this.#namesOf(subject, [message]) }
  }

  /** Closes a topic for further messages. Repeating it changes nothing. @throws NotFound; Forbidden; PreconditionFailed */
  async close(
    caller: Caller,
    subjectKey: ChatSubjectKey,
    topicId: string,
    expected: ExpectedVersions,
  ): Promise<TopicView> {
    const subject = await this.#subject(caller, subjectKey)
    const { about, aboutId, ehrId } = subject
    const key = { id: topicId, about, aboutId, ehrId }
    const conditions = { expected, skipUnchanged: true }
    const topic = await this.#topics.update(
      caller,
      key,
      (current) => ({ ...current, closed: true }),
      conditions,
    )
    return (await this.#toViews(caller, subject, [topic]))[0] as TopicView
  }

  #subject(caller: Caller, { about, id }: ChatSubjectKey): Promise<ChatSubject> {
    return requireChatSubject(this.context, this.#dependencies.connections, caller, about, id)
  }

  async #isSubjectReachable(caller: Caller, { about, id }: ChatSubjectKey): Promise<boolean> {
    const { connections } = this.#dependencies
    return (await findChatSubject(this.context, connections, caller, about, id)) !== undefined
  }

  #topic(caller: Caller, { about, aboutId, ehrId }: ChatSubject, id: string, tx?: never | object) {
    const key = { id, about, aboutId, ehrId }
    return this.#topics.get(caller, key, tx ? { tx: tx as never } : {})
  }

  /** Checks, before an entry in the audit, that a topic is about the subject. @throws NotFound */
  async #requireTopic(caller: Caller, subject: ChatSubject, id: string): Promise<void> {
    const { about, aboutId, ehrId } = subject
    const topic = await this.#topics.find(caller, { id, about, aboutId, ehrId })
    if (!topic) await this.#topic(caller, subject, id)
  }

  async #change(
    caller: Caller,
    subjectKey: ChatSubjectKey,
    { topicId, messageId }: MessageKey,
    change: (current: StoredMessage) => StoredMessage,
    conditions: UpdateConditions,
  ) {
    const subject = await this.#subject(caller, subjectKey)
    await this.#requireTopic(caller, subject, topicId)
    const changeOwnMessage = (current: StoredMessage): StoredMessage => {
      if (current.createdBy !== authorOf(caller).userId) throw new ServiceError('Forbidden')
      return change(current)
    }
    const key = { id: messageId, topicId, ehrId: subject.ehrId }
    const message = await this.#messages.update(caller, key, changeOwnMessage, conditions)
    return { message, names: await this.#namesOf(subject, [message]) }
  }

  async #toViews(caller: Caller, subject: ChatSubject, topics: readonly StoredTopic[]): Promise<TopicView[]> {
    const { userId } = authorOf(caller)
    const times = topics.map(
      ({ id, lastMessageAt }) => [id, lastMessageAt ? new Date(lastMessageAt) : undefined] as const,
    )
    const [unread, names] = await Promise.all([
      this.marks.findUnread(userId, times).then((ids) => this.marks.countUnread(userId, ids)),
      this.#namesOf(subject, topics),
    ])
    return topics.map((topic) => ({ topic, unread: unread.get(topic.id) ?? 0, names }))
  }

  #namesOf({ isAnonymous }: ChatSubject, items: readonly Authored[]): Promise<NamesById> | NamesById {
    const userIds = items.flatMap(({ createdBy, onBehalfOf = [] }) => [createdBy, onBehalfOf].flat())
    return isAnonymous ? NO_NAMES : this.#dependencies.persons.namesOf(userIds)
  }

  #message(
    caller: Caller,
    subject: ChatSubject,
    topicId: string,
    { text, attachments, replyTo }: NewMessage,
  ) {
    return {
      ...parentFieldsOf(subject, false),
      topicId,
      text,
      ...chatAuthorOf(caller),
      deleted: false,
      attachments: [...(attachments ?? [])],
      ...(replyTo && { replyTo }),
    }
  }

  /** @throws RuleViolated */
  async #requireWritable(
    caller: Caller,
    { ehrId }: ChatSubject,
    { text, attachments = [], replyTo }: NewMessage,
    topicId?: string,
  ): Promise<void> {
    const violations: Violation[] = chatTextViolations('text', text)
    const messages = documentCollection(this.context, ChatMessage.collection)
    if (replyTo && !(await messages.findOne({ _id: replyTo, topicId: topicId ?? '' })))
      violations.push(unknownMessageViolation('replyTo'))
    for (const [i, { type, id }] of attachments.entries()) {
      const collection = ehrId === undefined ? undefined : this.#dependencies.collectionOf(type)
      const isThere =
        collection !== undefined && (await canRead(this.context, caller, collection, { _id: id, ehrId }))
      if (!isThere)
        violations.push({ path: `attachments.${i}`, code: 'reference', message: NO_RECORD_MESSAGE })
    }
    requireNoViolations(violations)
  }

  async #scheduleReminder(topicId: string, session: ClientSession): Promise<void> {
    const topics = documentCollection(this.context, ChatTopic.collection)
    await topics.updateOne({ _id: topicId }, reminderUpdate(this.context.clock()), { session })
  }
}

/** Stored as the author of topics and messages. */
function chatAuthorOf(caller: Caller) {
  const { userId: createdBy, ...others } = authorOf(caller)
  return { createdBy, ...others }
}

const messageFormat = createParseFormat(ChatMessage.schema)

interface MessageKey {
  topicId: string
  messageId: string
}

const NO_RECORD_MESSAGE = 'must be a measurement, event or composition of this EHR that the author can see'
const unknownMessageViolation = (path: string): Violation => ({
  path,
  code: 'reference',
  message: 'must be a message of this topic',
})

/** The parent fields of a topic; a message has the same ones without `about` and `aboutId`. */
const parentFieldsOf = ({ about, aboutId, ehrId, carePlanId, goesWith }: ChatSubject, ofTopic = true) => ({
  ...(ofTopic && { about, aboutId }),
  ...(ehrId !== undefined && { ehrId }),
  ...(carePlanId !== undefined && { carePlanId }),
  ...goesWith,
})

/** Only the first unread message sets the time of the reminder. */
const reminderUpdate = (at: Date) => ({ $min: { remindAt: new Date(at.getTime() + REMINDER_DELAY_MS) } })

/** Everyone who may read a topic may write in it until it is closed. */
const topicInsertTarget = (
  { userId }: Caller,
  { about, aboutId, ehrId }: ChatSubject,
  topicId: string,
): RecordParent => ({
  collection: 'ChatTopic',
  key: { _id: topicId, about, aboutId },
  ehrId,
  allowsReaders: true,
  updateOnInsert: (at) => ({ $max: { lastMessageAt: at }, ...reminderUpdate(at) }),
  permissions: ({ closed, _rperm }) => {
    if (closed === true)
      requireNoViolations([
        { path: '', code: 'closed', message: 'cannot be stored because the topic is closed' },
      ])
    return { read: _rperm, write: [userId] }
  },
})

import type { Static } from '@sinclair/typebox'
import type { ClientSession, IndexDescription } from 'mongodb'
import type { About, Attachment } from '../../schemas/chat.ts'
import { ServiceError } from '../../schemas/errors.ts'
import type { Violation } from '../../schemas/violation.ts'
import type { Happening } from '../live/happenings.ts'
import type { Connections } from '../profiles/connections.ts'
import { refuseViolations } from '../registered/refusals/refusals.ts'
import type { Expected } from '../store/decisions.ts'
import type { Caller } from '../store/documents/caller.ts'
import { canRead, documentsOf } from '../store/documents/database.ts'
import { parseFormat, type Saved } from '../store/documents/parse-format.ts'
import type { Page, PageOf, PageQuery } from '../store/reading/listing.ts'
import { Store } from '../store/store.ts'
import { unlessMade } from '../store/writing/once.ts'
import { inTransaction, type Records, readTogether } from '../store/writing/transaction.ts'
import { takeAlone } from '../store/writing/turns.ts'
import type { Into } from '../store/writing/writer.ts'
import { ChatMessage, ChatTopic } from './chat-kinds.ts'
import { EDITABLE_MS, textViolations } from './chat-rules.ts'
import { ReadMarks } from './read-marks.ts'
import { type Subject, subjectFor } from './subjects.ts'

export type StoredTopic = Saved<Static<typeof ChatTopic.schema>>
export type StoredMessage = Saved<Static<typeof ChatMessage.schema>>

/** What is said of people where they are shown: their names, where they have one. */
type Names = ReadonlyMap<string, string>

/** A topic as somebody sees it. */
export interface SeenTopic {
  topic: StoredTopic
  unread: number
  names: Names
}

/** What somebody writes. */
interface Written {
  text: string
  attachments?: readonly Attachment[] | undefined
  replyTo?: string | null | undefined
}

/** Where something is talked about: the kind of thing, and its id. */
export interface Place {
  about: About
  id: string
}

interface Others {
  connections: Pick<Connections, 'areConnected' | 'letTalk'>
  persons: { namesOf(mvUids: readonly string[]): Promise<Names> }
  /** The collection of what a reference of this type names; undefined: it may not name any. */
  collectionOf(type: string): string | undefined
}

const NOBODY: ReadonlyMap<string, string> = new Map()

/** For how long nobody is mailed about a message: most are read by then. */
export const PATIENCE_MS = 3_600_000

/** What people say to each other who may see the same. */
export class Chats {
  readonly records: Records
  readonly #others: Others
  readonly #topics
  readonly #messages
  readonly marks: ReadMarks

  constructor(records: Records, others: Others) {
    this.records = records
    this.#others = others
    this.#topics = new Store(records, ChatTopic)
    this.#messages = new Store(records, ChatMessage)
    this.marks = new ReadMarks(records)
  }

  indexes(): [collection: string, IndexDescription[]][] {
    return [this.#topics.indexes(), this.#messages.indexes(), this.marks.indexes()]
  }

  /** Those in which somebody wrote last come first. @throws NotFound for what the caller may not see */
  async list(caller: Caller, place: Place, page: PageOf): Promise<Page<SeenTopic>> {
    const subject = await this.#subject(caller, place)
    const { about, aboutId, ehrId } = subject
    const where = { about, aboutId, ehrId } as PageQuery<Static<typeof ChatTopic.schema>>['where']
    const found = await this.#topics.list(caller, 'ofObject', { where, ...page })
    return { ...found, items: await this.#seen(caller, subject, found.items) }
  }

  /**
   * Starts a topic with its first message.
   * @param ids of both
   * @throws NotFound; RuleViolated
   */
  async start(
    caller: Caller,
    place: Place,
    { title, ...content }: Written & { title: string },
    ids: { topicId: string; messageId: string },
  ): Promise<SeenTopic> {
    const subject = await this.#subject(caller, place)
    refuseViolations(textViolations('title', title))
    await this.#requireWritable(caller, subject, content)
    const { topicId, messageId } = ids
    const topic = await unlessMade(
      () =>
        inTransaction(this.records, async (tx) => {
          // Nothing is talked about that is removed at the same instant.
          if (subject.ehrId !== undefined) await takeAlone(this.records, tx, [subject.ehrId])
          else await this.#others.connections.letTalk(tx, caller.userId, place.id)
          const { permissions } = await this.#subject(caller, place)
          const write = [...new Set([...permissions.write, caller.userId])]
          const at = this.records.clock().toISOString()
          const told = {
            ...placeOf(subject),
            title,
            createdBy: caller.userId,
            lastMessageAt: at,
            closed: false,
          }
          const made = await this.#topics.create(
            caller,
            told as never,
            { read: permissions.read, write },
            { tx, id: topicId },
          )
          const message = { ...this.#message(caller, subject, topicId, content), id: messageId }
          const readers = { read: permissions.read, write: [caller.userId] }
          await this.#messages.create(caller, message as never, readers, { tx, id: messageId })
          await this.#remindLater(topicId, tx.session)
          return made
        }),
      () => this.#topic(caller, subject, topicId),
    )
    return (await this.#seen(caller, subject, [topic]))[0] as SeenTopic
  }

  /** A topic with its messages, the newest last; pages go back from them. @throws NotFound */
  async show(caller: Caller, place: Place, topicId: string, { limit, cursor }: PageOf) {
    const subject = await this.#subject(caller, place)
    const [topic, page] = await readTogether(this.records, (tx) =>
      Promise.all([
        this.#topic(caller, subject, topicId, tx),
        this.#messages.list(caller, 'ofTopic', { where: { topicId }, order: 'desc', limit, cursor }, { tx }),
      ]),
    )
    const messages = page.items.reverse()
    const authors = messages.map(({ createdBy }) => createdBy)
    const [unread, names] = await Promise.all([
      this.marks.unread(caller.userId, [topicId]),
      this.#namesOf(subject, [topic.createdBy, ...authors]),
    ])
    const seen = { topic, unread: unread.get(topicId) ?? 0, names }
    return { ...seen, messages, older: page.next, newer: page.prev ?? null }
  }

  /** @throws NotFound; RuleViolated, also when the topic is closed */
  async post(
    caller: Caller,
    place: Place,
    topicId: string,
    content: Written,
    id: string,
  ): Promise<{ message: StoredMessage; names: Names }> {
    const subject = await this.#subject(caller, place)
    await this.#requireWritable(caller, subject, content, topicId)
    const message = this.#message(caller, subject, topicId, content)
    const created = await this.#messages.create(
      caller,
      message as never,
      intoTopic(caller, subject, topicId),
      { id },
    )
    return { message: created, names: await this.#namesOf(subject, [caller.userId]) }
  }

  /** @throws NotFound; Forbidden for another's; PreconditionFailed; RuleViolated when it is too late */
  async edit(caller: Caller, place: Place, key: MessageKey, text: string, expected: Expected) {
    const change = (now: StoredMessage): StoredMessage => {
      const late = this.records.clock().getTime() - Date.parse(now.createdAt) > EDITABLE_MS
      refuseViolations([
        ...textViolations('text', text),
        ...(now.deleted
          ? [{ path: 'text', code: 'deleted', message: 'cannot be changed: it was deleted' }]
          : []),
        ...(late ? [{ path: 'text', code: 'late', message: 'can only be changed within 15 minutes' }] : []),
      ])
      return { ...now, text, editedAt: this.records.clock().toISOString() }
    }
    return this.#change(caller, place, key, change, expected)
  }

  /** Leaves a stone where it was. @throws NotFound; Forbidden for another's; PreconditionFailed */
  async erase(caller: Caller, place: Place, key: MessageKey, expected: Expected): Promise<void> {
    const stone = (now: StoredMessage): StoredMessage => ({
      ...now,
      text: '',
      attachments: [],
      deleted: true,
    })
    await this.#change(caller, place, key, stone, expected)
  }

  /** Whoever has read a message has read those before it. @throws NotFound; RuleViolated for no message of the topic */
  async markRead(caller: Caller, place: Place, topicId: string, messageId?: string | null): Promise<void> {
    const subject = await this.#subject(caller, place)
    await this.#topic(caller, subject, topicId)
    const messages = documentsOf(this.records, ChatMessage.collection)
    const which = { topicId, ...(messageId && { _id: messageId }) }
    const found = await messages.findOne(which, { sort: { _created_at: -1 }, projection: { _created_at: 1 } })
    if (found) return this.marks.read(topicId, caller.userId, found._created_at)
    if (messageId) refuseViolations([noMessage('messageId')])
  }

  /** What can be followed of a topic. @throws NotFound */
  async followed(caller: Caller, place: Place, topicId: string) {
    const subject = await this.#subject(caller, place)
    await this.#topic(caller, subject, topicId)
    const { ehrId = null } = subject
    return {
      concerns: (change: Pick<Happening, 'collection' | 'id' | 'ehrId'>) =>
        change.ehrId === ehrId &&
        (change.collection === ChatMessage.collection ||
          (change.collection === ChatTopic.collection && change.id === topicId)),
      includes: ({ collection, before, after }: Happening) =>
        collection === ChatTopic.collection || (after ?? before)?.topicId === topicId,
      isReachable: async (caller: Caller) =>
        (await canRead(this.records, caller, ChatTopic.collection, { _id: topicId })) &&
        (await this.#isThere(caller, place)),
    }
  }

  /** The message that somebody has heard of; undefined: it was no message. */
  async messageHeard(caller: Caller, place: Place, { collection, before, after }: Happening) {
    const document = after ?? before
    if (collection !== ChatMessage.collection || !document) return undefined
    const subject = await this.#subject(caller, place)
    const message: StoredMessage = messageFormat.fromStored(document)
    return { message, names: await this.#namesOf(subject, [message.createdBy]) }
  }

  /** Nothing more is written in it. @throws NotFound; Forbidden; PreconditionFailed */
  async close(caller: Caller, place: Place, topicId: string, expected: Expected): Promise<SeenTopic> {
    const subject = await this.#subject(caller, place)
    const { about, aboutId } = subject
    const key = { id: topicId, about, aboutId }
    const topic = await this.#topics.update(caller, key, (now) => ({ ...now, closed: true }), { expected })
    return (await this.#seen(caller, subject, [topic]))[0] as SeenTopic
  }

  #subject(caller: Caller, { about, id }: Place): Promise<Subject> {
    return subjectFor(this.records, this.#others.connections, caller, about, id)
  }

  #isThere(caller: Caller, place: Place): Promise<boolean> {
    return this.#subject(caller, place).then(
      () => true,
      (error: unknown) => {
        if (error instanceof ServiceError && error.error === 'NotFound') return false
        throw error
      },
    )
  }

  #topic(caller: Caller, { about, aboutId, ehrId }: Subject, id: string, tx?: never | object) {
    const key = { id, about, aboutId, ehrId }
    return this.#topics.get(caller, key, tx ? { tx: tx as never } : {})
  }

  async #change(
    caller: Caller,
    place: Place,
    { topicId, messageId }: MessageKey,
    change: (now: StoredMessage) => StoredMessage,
    expected: Expected,
  ) {
    const subject = await this.#subject(caller, place)
    await this.#topic(caller, subject, topicId)
    const own = (now: StoredMessage): StoredMessage => {
      if (now.createdBy !== caller.userId) throw new ServiceError('Forbidden')
      return change(now)
    }
    const message = await this.#messages.update(caller, { id: messageId, topicId }, own, { expected })
    return { message, names: await this.#namesOf(subject, [message.createdBy]) }
  }

  async #seen(caller: Caller, subject: Subject, topics: readonly StoredTopic[]): Promise<SeenTopic[]> {
    const ids = topics.map(({ id }) => id)
    const authors = topics.map(({ createdBy }) => createdBy)
    const [unread, names] = await Promise.all([
      this.marks.unread(caller.userId, ids),
      this.#namesOf(subject, authors),
    ])
    return topics.map((topic) => ({ topic, unread: unread.get(topic.id) ?? 0, names }))
  }

  #namesOf({ unnamed }: Subject, mvUids: readonly string[]): Promise<Names> | Names {
    return unnamed ? NOBODY : this.#others.persons.namesOf(mvUids)
  }

  #message({ userId }: Caller, subject: Subject, topicId: string, { text, attachments, replyTo }: Written) {
    return {
      ...{ ...placeOf(subject, false), topicId, text, createdBy: userId, deleted: false },
      attachments: [...(attachments ?? [])],
      ...(replyTo && { replyTo }),
    }
  }

  /** @throws RuleViolated */
  async #requireWritable(
    caller: Caller,
    { ehrId }: Subject,
    { text, attachments = [], replyTo }: Written,
    topicId?: string,
  ): Promise<void> {
    const found: Violation[] = textViolations('text', text)
    const messages = documentsOf(this.records, ChatMessage.collection)
    if (replyTo && !(await messages.findOne({ _id: replyTo, topicId: topicId ?? '' })))
      found.push(noMessage('replyTo'))
    for (const [i, { type, id }] of attachments.entries()) {
      const collection = ehrId === undefined ? undefined : this.#others.collectionOf(type)
      const isThere =
        collection !== undefined && (await canRead(this.records, caller, collection, { _id: id, ehrId }))
      if (!isThere) found.push({ path: `attachments.${i}`, code: 'reference', message: NO_RECORD })
    }
    refuseViolations(found)
  }

  async #remindLater(topicId: string, session: ClientSession): Promise<void> {
    const topics = documentsOf(this.records, ChatTopic.collection)
    await topics.updateOne({ _id: topicId }, remindingAt(this.records.clock()), { session })
  }
}

const messageFormat = parseFormat(ChatMessage.schema)

interface MessageKey {
  topicId: string
  messageId: string
}

const NO_RECORD = 'names no measurement, event or composition of this EHR that the author may see'
const noMessage = (path: string): Violation => ({
  ...{ path, code: 'reference' },
  message: 'names no message of this topic',
})

/** Where a topic is registered; a message has it from its topic. */
const placeOf = ({ about, aboutId, ehrId, carePlanId, goesWith }: Subject, ofTopic = true) => ({
  ...(ofTopic && { about, aboutId }),
  ...(ehrId !== undefined && { ehrId }),
  ...(carePlanId !== undefined && { carePlanId }),
  ...goesWith,
})

/** The first message that nobody has read yet is what somebody is reminded of. */
const remindingAt = (at: Date) => ({ $min: { remindAt: new Date(at.getTime() + PATIENCE_MS) } })

/** Whoever reads a topic writes in it, until it is closed. */
const intoTopic = ({ userId }: Caller, { about, aboutId, ehrId }: Subject, topicId: string): Into => ({
  collection: 'ChatTopic',
  key: { _id: topicId, about, aboutId },
  ehrId,
  byReaders: true,
  touched: (at) => ({ $max: { lastMessageAt: at }, ...remindingAt(at) }),
  permissions: ({ closed, _rperm }) => {
    if (closed === true)
      refuseViolations([{ path: '', code: 'closed', message: 'is in a topic that is closed' }])
    return { read: _rperm, write: [userId] }
  },
})

import { randomUUID } from 'node:crypto'
import type { ClientSession, Collection, Db } from 'mongodb'
import type { SendMail } from '../../records/accounts/user/mails.ts'
import { concealed, type Spend } from '../../records/limits/rate-limits.ts'
import { periodically } from '../../records/store/batching/periodically.ts'
import { makeIndexes } from '../../records/store/documents/indexes.ts'
import { ServiceError } from '../../schemas/errors.ts'
import type { Log } from '../telemetry/log.ts'
import { type Metrics, observeFigure } from '../telemetry/metrics.ts'
import { render } from './render.ts'
import { appName, type TemplateName } from './templates.ts'
import type { Transport } from './transport.ts'

/** A mail as its sender knows it: a template, the language of its reader, and the values that it names. */
interface Mail {
  to: string | { mvUid: string }
  template: TemplateName
  language?: string | undefined
  data: Record<string, string>
}

export interface MailQueue {
  /** Keeps a mail until it is sent; resolves as soon as it is kept: within a transaction, if and when that is committed. */
  enqueue(mail: Mail, session?: ClientSession): Promise<void>
  close(): Promise<void>
}

interface QueuedMail extends Mail {
  _id: string
  attempts: number
  /** Whether it counts among the mails that its reader gets in this hour. */
  counted?: true
  createdAt: Date
  /** When it is next tried. Absent: given up. */
  dueAt?: Date
  abandonedAt?: Date
  lastFailure?: string
}

/** What the queue works with. */
interface Post {
  transport: Transport
  spend: Spend
  log: Log
  metrics: Metrics
  mailboxOf(mvUid: string): Promise<{ to: string; language: string | undefined } | undefined>
  /** The language that whoever has an address has chosen. */
  languageOf(address: string): Promise<string | undefined>
}

type Addressed = QueuedMail & { to: string }

/** How long a mail belongs to the instance that took it; after that another one tries. */
const leaseMs = 60_000
const pollMs = 5_000
/** 5 s, 10 s, 20 s … at most an hour apart: about two days in all. */
const mostAttempts = 58
const backoffMs = (attempts: number): number => Math.min(5_000 * 2 ** (attempts - 1), 3_600_000)

/**
 * Mails wait in the database, so that neither a slow nor a dead mail server touches a request or loses a mail,
 * and so that several instances share the work: one that takes a mail moves its `dueAt` past its lease.
 */
export async function openMailQueue(db: Db, post: Post): Promise<MailQueue> {
  const mails = db.collection<QueuedMail>('mails')
  await makeIndexes(mails, [
    { key: { dueAt: 1 }, name: 'due' },
    { key: { abandonedAt: 1 }, name: 'abandoned', expireAfterSeconds: 30 * 86_400 },
  ])
  countWaiting(mails, post.metrics)

  const sending = periodically(
    pollMs,
    async (ending) => {
      while (!ending.aborted && (await sendNext(mails, post)));
    },
    (err) => post.log.error({ err }, 'The mail queue cannot be read'),
  )
  const keeping = new Set<Promise<unknown>>()
  return {
    enqueue: async (mail, session) => {
      const now = new Date()
      const queued = { ...mail, _id: randomUUID(), attempts: 0, createdAt: now, dueAt: now }
      const kept = mails.insertOne(queued, session ? { session } : {}).finally(() => keeping.delete(kept))
      keeping.add(kept)
      await kept
      if (session) session.once('ended', () => sending.wake())
      else sending.wake()
    },
    close: async () => {
      // Parse Server awaits none of its mails: at the end of the service some may be on their way here.
      await Promise.allSettled(keeping)
      await sending.end()
      post.transport.close()
    },
  }
}

/** The queue as the records see it. */
export const sendMailBy =
  (queue: MailQueue): SendMail =>
  ({ data, ...mail }, session) =>
    queue.enqueue({ ...mail, data: { appName, ...data } }, session)

/** Sends one mail that is due. @returns whether there was one */
async function sendNext(mails: Collection<QueuedMail>, post: Post): Promise<boolean> {
  const { transport, log, metrics } = post
  const now = Date.now()
  const taken = await mails.findOneAndUpdate(
    { dueAt: { $lte: new Date(now) } },
    { $set: { dueAt: new Date(now + leaseMs) }, $inc: { attempts: 1 } },
    { sort: { dueAt: 1 }, returnDocument: 'after' },
  )
  if (!taken) return false
  const mail = await addressed(mails, taken, post)
  if (!mail) return true
  if (!mail.counted && !(await mayBeSent(mails, mail, post))) return true
  try {
    const language = mail.language ?? (await post.languageOf(mail.to))
    await transport.send({ to: mail.to, ...render(mail.template, language, mail.data) })
    await mails.deleteOne({ _id: mail._id })
    metrics.mails.inc({ outcome: 'sent' })
  } catch (error) {
    const abandoned = mail.attempts >= mostAttempts
    const lastFailure = String((error as { code?: unknown }).code ?? (error as Error).name)
    await mails.updateOne(
      { _id: mail._id },
      abandoned
        ? { $set: { lastFailure, abandonedAt: new Date() }, $unset: { dueAt: 1 } }
        : { $set: { lastFailure, dueAt: new Date(Date.now() + backoffMs(mail.attempts)) } },
    )
    metrics.mails.inc({ outcome: abandoned ? 'abandoned' : 'failed' })
    log.warn({ mail: mail._id, attempts: mail.attempts, lastFailure, abandoned }, 'A mail could not be sent')
  }
  return true
}

/**
 * Of a mail to a user the address is found only now: neither what is answered to whoever had it sent nor how long that
 * takes tells whether there is such a user.
 */
async function addressed(
  mails: Collection<QueuedMail>,
  mail: QueuedMail,
  { mailboxOf }: Post,
): Promise<Addressed | undefined> {
  const { _id, to } = mail
  if (typeof to === 'string') return { ...mail, to }
  const mailbox = await mailboxOf(to.mvUid)
  if (mailbox) return { ...mail, ...mailbox }
  await mails.deleteOne({ _id })
  return undefined
}

/** What anybody can ask for as often as they like; the reader has five of them, or can ask again later. */
const onRequest: readonly TemplateName[] = [
  'verify-email',
  'reset-password',
  'account-exists',
  'confirm-address',
  'pending-ehr',
]

/**
 * Counts a mail once, however often it is tried. Nobody fills another's mailbox through us; yet what tells of
 * something that has happened is not lost under such a flood: it waits.
 */
async function mayBeSent(
  mails: Collection<QueuedMail>,
  { _id, to, template }: Addressed,
  { spend, metrics }: Post,
): Promise<boolean> {
  try {
    await spend('mail', concealed(to))
    await mails.updateOne({ _id }, { $set: { counted: true } })
    return true
  } catch (error) {
    if (!(error instanceof ServiceError && error.error === 'TooManyRequests')) throw error
    if (onRequest.includes(template)) {
      await mails.deleteOne({ _id })
      metrics.mails.inc({ outcome: 'dropped' })
    } else {
      const dueAt = new Date(Date.now() + (error.retryAfter ?? 0) * 1000)
      await mails.updateOne({ _id }, { $set: { dueAt, attempts: 0 } })
    }
    return false
  }
}

function countWaiting(mails: Collection<QueuedMail>, metrics: Metrics): void {
  const waiting = { dueAt: { $exists: true } }
  observeFigure(metrics, { name: 'mails_waiting', help: 'Mails that are not sent yet' }, () =>
    mails.countDocuments(waiting),
  )
  const oldest = { name: 'mails_oldest_seconds', help: 'How long the oldest of them has waited' }
  observeFigure(metrics, oldest, async () => {
    const mail = await mails.findOne(waiting, { sort: { createdAt: 1 }, projection: { createdAt: 1 } })
    return mail ? (Date.now() - mail.createdAt.getTime()) / 1000 : 0
  })
}

import { randomUUID } from 'node:crypto'
import type { ClientSession, Collection, Db } from 'mongodb'
import type { SendMail } from '../../records/accounts/user/mails.ts'
import { hashedKey, type RateLimiter } from '../../records/limits/rate-limiter.ts'
import { type PeriodicTask, startPeriodicTask } from '../../records/store/batching/periodic-task.ts'
import { dueCondition } from '../../records/store/clocks/lease.ts'
import { syncIndexes } from '../../records/store/documents/indexes.ts'
import { ServiceError } from '../../schemas/errors.ts'
import type { Log } from '../telemetry/log.ts'
import { type Metrics, observeGauge } from '../telemetry/metrics.ts'
import type { TemplateName } from './mail-templates.ts'
import { CONCURRENT_MAILS, type MailTransport } from './mail-transport.ts'
import { renderMail } from './render-mail.ts'

/** A mail: template, language of the reader, and values for the template. */
interface Mail {
  to: string | { mvUid: string }
  template: TemplateName
  language?: string | undefined
  /** Whether the mail has been counted for the hourly limit of its reader. */
  counted?: true
  data: Record<string, string>
}

export interface MailQueue {
  /** Queues a mail and resolves once it is stored: within a transaction, when and if that is committed. */
  enqueue(mail: Mail, session?: ClientSession): Promise<void>
  /** Deletes the queued mails to a user whose account ends, at these addresses. */
  forget(mvUid: string, addresses: readonly string[], session: ClientSession): Promise<void>
  /** Waits for mails that are being stored. @throws if one could not be */
  waitUntilStored(): Promise<void>
  /** Numbers of the mails that wait and that were given up, and the time of the oldest one that waits. */
  status(): Promise<{ waiting: number; abandoned: number; oldestAt: Date | undefined }>
  close(): Promise<void>
}

interface QueuedMail extends Mail {
  _id: string
  attempts: number
  createdAt: Date
  /** Time of the next attempt; absent after the last one. */
  dueAt?: Date
  abandonedAt?: Date
  lastFailure?: string
}

interface MailQueueDependencies {
  /** undefined for a command, which leaves the mails to the service: that one knows the mail server and the texts. */
  transport: MailTransport | undefined
  consume: RateLimiter
  log: Log
  metrics: Metrics
  mailboxOf(mvUid: string): Promise<{ to: string; language: string | undefined } | undefined>
  /** Returns the language of the owner of an address. */
  languageOf(address: string): Promise<string | undefined>
  /** Values for every template; those of a mail precede. */
  commonValues(language: string | undefined): Record<string, string>
}

type AddressedMail = QueuedMail & { to: string }

/** Lease of a mail; afterwards another instance tries. */
const MAIL_LEASE_MS = 60_000
const MAX_BACKOFF_MS = 3_600_000
const MAIL_POLL_INTERVAL_MS = 5_000
/** Attempts after 5 s, 10 s, 20 s … up to an hour apart: about two days in all. */
const MAX_ATTEMPTS = 58
const backoffDelayMs = (attempts: number): number => Math.min(5_000 * 2 ** (attempts - 1), MAX_BACKOFF_MS)

/**
 * Opens the mail queue. Mails wait in the database, so a slow or dead mail server neither delays requests nor
 * loses mails. Instances share the work: one that takes a mail moves its `dueAt` past its lease.
 */
export async function openMailQueue(db: Db, post: MailQueueDependencies): Promise<MailQueue> {
  const mails = db.collection<QueuedMail>('mails')
  await syncIndexes(mails, [
    { key: { dueAt: 1 }, name: 'due' },
    { key: { to: 1 }, name: 'recipient' },
    { key: { abandonedAt: 1 }, name: 'abandoned', expireAfterSeconds: 30 * 86_400 },
  ])
  countWaitingMails(mails, post.metrics)

  const { transport } = post
  const senders = transport ? startSenders(mails, { ...post, transport }) : []
  const wakeSenders = () => {
    for (const sender of senders) sender.wake()
  }
  const keeping = new Set<Promise<unknown>>()
  return {
    enqueue: async (mail, session) => {
      const now = new Date()
      const queuedMail = { ...mail, _id: randomUUID(), attempts: 0, createdAt: now, dueAt: now }
      const insertion = mails
        .insertOne(queuedMail, session ? { session } : {})
        .finally(() => keeping.delete(insertion))
      keeping.add(insertion)
      await insertion
      if (session) session.once('ended', wakeSenders)
      else wakeSenders()
    },
    forget: async (mvUid, addresses, session) =>
      void (await mails.deleteMany({ to: { $in: [...addresses, { mvUid }] } }, { session })),
    waitUntilStored: async () => void (await Promise.all(keeping)),
    status: async () => ({
      waiting: await mails.countDocuments(WAITING),
      abandoned: await mails.countDocuments({ abandonedAt: { $exists: true } }),
      oldestAt: await findOldestWaiting(mails),
    }),
    close: async () => {
      // Parse Server does not await its mails, so some may arrive during shutdown.
      await Promise.allSettled(keeping)
      await Promise.all(senders.map((sender) => sender.stop()))
      transport?.close()
    },
  }
}

type SenderDependencies = MailQueueDependencies & { transport: MailTransport }

const startSenders = (mails: Collection<QueuedMail>, post: SenderDependencies): PeriodicTask[] =>
  Array.from({ length: CONCURRENT_MAILS }, () =>
    startPeriodicTask(
      MAIL_POLL_INTERVAL_MS,
      async (ending) => {
        while (!ending.aborted && (await sendNextMail(mails, post)));
      },
      (err) => post.log.error({ err }, 'Reading the mail queue failed'),
    ),
  )

/** The queue in the form for the stores. */
export const toSendMail =
  (queue: MailQueue): SendMail =>
  (mail, session) =>
    queue.enqueue(mail, session)

/**
 * Sends one mail that is due.
 * @returns whether there was one
 */
async function sendNextMail(mails: Collection<QueuedMail>, post: SenderDependencies): Promise<boolean> {
  const { transport, log, metrics } = post
  const now = Date.now()
  const queuedMail = await mails.findOneAndUpdate(
    dueCondition('dueAt', MAX_BACKOFF_MS, now),
    { $set: { dueAt: new Date(now + MAIL_LEASE_MS) }, $inc: { attempts: 1 } },
    { sort: { dueAt: 1 }, returnDocument: 'after' },
  )
  if (!queuedMail) return false
  const mail = await resolveAddress(mails, queuedMail, post)
  if (!mail) return true
  if (!mail.counted && !(await isWithinMailLimit(mails, mail, queuedMail, post))) return true
  try {
    const language = mail.language ?? (await post.languageOf(mail.to))
    const values = { ...post.commonValues(language), ...mail.data }
    await transport.send({ to: mail.to, ...renderMail(mail.template, language, values) })
    await mails.deleteOne({ _id: mail._id })
    metrics.mails.inc({ outcome: 'sent' })
  } catch (error) {
    const isAbandoned = mail.attempts >= MAX_ATTEMPTS || isFinalRefusal(error)
    const lastFailure = String((error as { code?: unknown }).code ?? (error as Error).name)
    await mails.updateOne(
      { _id: mail._id },
      isAbandoned
        ? { $set: { lastFailure, abandonedAt: new Date() }, $unset: { dueAt: 1 } }
        : { $set: { lastFailure, dueAt: new Date(Date.now() + backoffDelayMs(mail.attempts)) } },
    )
    metrics.mails.inc({ outcome: isAbandoned ? 'abandoned' : 'failed' })
    log.warn(
      { mail: mail._id, attempts: mail.attempts, lastFailure, abandoned: isAbandoned },
      'Sending a mail failed',
    )
  }
  return true
}

/**
 * A 5xx answer to the recipient or the content of a mail stays the same (RFC 5321, 4.2.1). One to our login or
 * sender concerns settings, which the operator can correct; 503 concerns the connection.
 */
function isFinalRefusal(error: unknown): boolean {
  const { command, responseCode = 0 } = error as { command?: string; responseCode?: number }
  return responseCode >= 500 && responseCode !== 503 && (command === 'RCPT TO' || command === 'DATA')
}

/**
 * Looks up the address of a user only now. So neither the response to the sender nor its duration reveals
 * whether the user exists.
 */
async function resolveAddress(
  mails: Collection<QueuedMail>,
  mail: QueuedMail,
  { mailboxOf }: MailQueueDependencies,
): Promise<AddressedMail | undefined> {
  const { _id, to } = mail
  if (typeof to === 'string') return { ...mail, to }
  const mailbox = await mailboxOf(to.mvUid)
  if (mailbox) return { ...mail, ...mailbox }
  await mails.deleteOne({ _id })
  return undefined
}

/** Mails that anybody can request repeatedly: the reader already has five, or can ask again later. */
const REQUESTED_TEMPLATES: readonly TemplateName[] = [
  'verify-email',
  'reset-password',
  'account-exists',
  'confirm-address',
  'pending-ehr',
  'helper-invitation',
  'participation',
  'handover',
]

/**
 * Counts a mail once, even if it is sent repeatedly. The limit keeps others from flooding a mailbox. Under a
 * flood, mails about real events are delayed, not lost. Each of these templates is counted separately, so that
 * nobody can delay alerts by other mails. So has that for a new password: each of five mails brings the link that
 * works, and no other mails keep it from its owner.
 */
async function isWithinMailLimit(
  mails: Collection<QueuedMail>,
  { _id, to, template }: AddressedMail,
  queuedMail: QueuedMail,
  { consume, metrics }: MailQueueDependencies,
): Promise<boolean> {
  const isRequested = REQUESTED_TEMPLATES.includes(template)
  try {
    const isCountedTogether = isRequested && template !== 'reset-password'
    await consume('mail', hashedKey(isCountedTogether ? to : `${template} ${to}`))
    await mails.updateOne({ _id }, { $set: { counted: true } })
    return true
  } catch (error) {
    if (!(error instanceof ServiceError && error.error === 'TooManyRequests')) throw error
    if (isRequested) {
      await mails.deleteOne({ _id })
      metrics.mails.inc({ outcome: 'dropped' })
    } else {
      await postpone(mails, queuedMail, (error.retryAfter ?? 0) * 1000)
    }
    return false
  }
}

/** Delays a mail. Waiting mails with the same text are merged into one. */
async function postpone(
  mails: Collection<QueuedMail>,
  { _id, to, template, data }: QueuedMail,
  delayMs: number,
): Promise<void> {
  const now = new Date()
  await mails.updateOne({ _id }, { $set: { dueAt: new Date(now.getTime() + delayMs), attempts: 0 } })
  const same = { to, template, data, counted: { $exists: false } } as const
  // Of two that wait for the limit the one with the lesser id goes: if each removed the other, none would remain.
  const greater = await mails.findOne({ ...same, _id: { $gt: _id }, attempts: 0, dueAt: { $gt: now } })
  if (greater) await mails.deleteOne({ _id })
  else await mails.deleteMany({ ...same, _id: { $lt: _id }, createdAt: { $lte: now }, ...WAITING })
}

const WAITING = { dueAt: { $exists: true } }

async function findOldestWaiting(mails: Collection<QueuedMail>): Promise<Date | undefined> {
  const mail = await mails.findOne(WAITING, { sort: { createdAt: 1 }, projection: { createdAt: 1 } })
  return mail?.createdAt
}

function countWaitingMails(mails: Collection<QueuedMail>, metrics: Metrics): void {
  observeGauge(metrics, { name: 'mails_waiting', help: 'Number of mails that are waiting to be sent' }, () =>
    mails.countDocuments(WAITING),
  )
  const oldest = { name: 'mails_oldest_seconds', help: 'Waiting time of the oldest mail' }
  observeGauge(metrics, oldest, async () => {
    const at = await findOldestWaiting(mails)
    return at ? Math.max(0, (Date.now() - at.getTime()) / 1000) : 0
  })
}

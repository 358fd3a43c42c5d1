import { setTimeout as sleep } from 'node:timers/promises'
import type { ClientSession, Collection, Db } from 'mongodb'
import { type PeriodicTask, startPeriodicTask } from '../batching/periodic-task.ts'
import { isLeaseHeld } from '../clocks/lease.ts'
import type { Caller } from '../documents/caller.ts'
import type { Database } from '../documents/database.ts'
import type { BackgroundJobs, Job } from '../documents/job.ts'
import { unavailableError } from '../documents/outage.ts'
import { runStoreTransaction, type StoreContext, type Transaction } from '../writing/transaction.ts'

/** The transactions of a job. Each of them fails when the job was ended or replaced meanwhile. */
export interface JobSteps {
  /** The database including hidden documents. */
  unfilteredDb: Db
  runStep(work: (tx: Transaction) => Promise<unknown>): Promise<void>
  /** The transaction that also completes the job. */
  runLastStep(work?: (tx: Transaction) => Promise<unknown>): Promise<void>
}

/** Runs a job, or the rest of it after an interruption. */
export type JobHandler = (work: Job, steps: JobSteps) => Promise<void>
export type JobHandlers = Readonly<Record<string, JobHandler>>

/** The id of a job: at most one job per object exists. */
export const jobId = ({ field, id }: Pick<Job, 'field' | 'id'>): string => `${field}$${id}`

export const jobCollection = ({ db }: Pick<Database, 'db'>): Collection<Job> =>
  db.collection<Job>('work.underway')

const JOB_POLL_INTERVAL_MS = 1000
/** Must exceed the duration of a step. */
const JOB_LEASE_MS = 5000
/** By then every other instance has polled, and hides the job's documents. */
const START_DELAY_MS = 2.5 * JOB_POLL_INTERVAL_MS

const newLeaseEnd = (): Date => new Date(Date.now() + JOB_LEASE_MS)

/** Thrown when the job has been ended or replaced, or when this instance is stopping. */
class LeaseLost extends Error {}

/** Runs background jobs, and knows which documents they hide. @see docs/decisions/store.md */
export class JobRunner implements BackgroundJobs {
  /** The database including hidden documents. */
  readonly unfilteredDb: Db
  readonly #jobs: Collection<Job>
  readonly #hidingCollections: ReadonlySet<string>
  readonly #hasOtherInstances: boolean
  readonly #unfilteredSessions = new WeakSet<ClientSession>()
  readonly #running = new Map<string, Promise<void>>()
  #knownJobs = new Map<string, Job>()
  #changeCount = 0
  #isStopping = false
  #runHandler: (work: Job) => Promise<void> = async () => {}

  /** @param hasOtherInstances other instances may run: they show the documents until they have polled */
  constructor({ client, db }: Database, hidingCollections: readonly string[], hasOtherInstances: boolean) {
    // A second Db object without the read checks of `db`.
    this.unfilteredDb = client.db(db.databaseName)
    this.#jobs = jobCollection({ db: this.unfilteredDb })
    this.#hidingCollections = new Set(hidingCollections)
    this.#hasOtherInstances = hasOtherInstances
  }

  /** Resumes interrupted jobs, now and whenever another instance leaves one. */
  async startPolling(
    context: StoreContext,
    jobs: JobHandlers,
    onFault: (fault: unknown) => void,
  ): Promise<PeriodicTask> {
    this.#runHandler = async (work) => {
      const job = jobs[work.job]
      if (!job) throw new TypeError(`No handler is registered for the job ${work.job}.`)
      await job(work, this.#createSteps(context, work)).catch((fault) => {
        if (!(fault instanceof LeaseLost)) onFault(fault)
        throw fault
      })
    }
    await this.#poll()
    const loop = startPeriodicTask(JOB_POLL_INTERVAL_MS, () => this.#poll(), onFault)
    const end = async () => {
      this.#isStopping = true
      await loop.stop()
      const left = [...this.#running.keys()]
      await Promise.all(this.#running.values())
      // End the leases, so that the next instance takes the jobs over without a delay.
      const free = { $set: { leaseUntil: new Date(0) } }
      if (left.length > 0) await this.#jobs.updateMany({ _id: { $in: left } }, free)
    }
    return { wake: loop.wake, stop: end }
  }

  startJob(work: Job): void {
    this.#knownJobs.set(work._id, work)
    this.#changeCount += 1
    this.#runJob(work, this.#hasOtherInstances ? START_DELAY_MS : 0)
  }

  async waitUntilDone(id: string, ms: number): Promise<boolean> {
    // The local list may lack a job that another instance has just queued.
    const isUnderWay = async () =>
      this.#knownJobs.has(id) || (await this.#jobs.countDocuments({ _id: id })) > 0
    for (const end = performance.now() + ms; await isUnderWay(); await sleep(10))
      if (performance.now() > end) return false
    return true
  }

  /** Filters of the hidden documents of a collection, such as `{ ehrId: … }`. */
  hiddenFilters(collection: string, session: ClientSession | undefined): object[] {
    if (this.#knownJobs.size === 0 || !this.#hidingCollections.has(collection)) return []
    if (session && this.#unfilteredSessions.has(session)) return []
    return [...this.#knownJobs.values()].flatMap(({ waiting, hidesPlan, field, id }) => [
      ...(waiting ? [] : [{ [field]: id }]),
      ...(hidesPlan && collection === 'CarePlan' ? [{ _id: id }] : []),
    ])
  }

  /** Ids of the jobs that a read must wait for, because its caller would see half-done changes. */
  blockingJobs(collection: string, filter: QueryFilter, session: ClientSession | undefined): string[] {
    if (this.#knownJobs.size === 0 || (session && this.#unfilteredSessions.has(session))) return []
    const readers = filter._rperm?.$in ?? []
    return [...this.#knownJobs.values()].flatMap((work) => {
      const { _id, waiting, field, id, ehrId } = work
      if (!waiting?.collections.includes(collection)) return []
      const elsewhere = isOtherId(filter[field], id) || isOtherId(filter.ehrId, ehrId)
      return !elsewhere && waiting.readers.some((who) => readers.includes(who)) ? [_id] : []
    })
  }

  async #poll(): Promise<void> {
    const before = this.#changeCount
    const jobs = await this.#jobs.find().toArray()
    // The result may be older than a job that has started or ended here since.
    if (before !== this.#changeCount) return
    this.#knownJobs = new Map(jobs.map((work) => [work._id, work]))
    for (const work of jobs) if (!isLeaseHeld(work.leaseUntil, JOB_LEASE_MS)) await this.#takeOver(work)
  }

  async #takeOver(work: Job): Promise<void> {
    if (this.#isStopping || this.#running.has(work._id)) return
    const { _id, job, leaseUntil } = work
    const newLease = { $set: { leaseUntil: newLeaseEnd() } }
    const { matchedCount } = await this.#jobs.updateOne({ _id, job, leaseUntil }, newLease)
    if (matchedCount > 0) this.#runJob(work, 0)
  }

  #runJob(work: Job, pauseMs: number): void {
    const { _id } = work
    const run = async () => {
      await this.#running.get(_id)
      if (pauseMs > 0) await sleep(pauseMs)
      try {
        await this.#runHandler(work)
        if (this.#knownJobs.get(_id)?.job === work.job) this.#knownJobs.delete(_id)
        this.#changeCount += 1
      } catch {
        // onFault has reported it; the next poll after the lease resumes the job.
      }
    }
    const running = run().finally(() => {
      if (this.#running.get(_id) === running) this.#running.delete(_id)
    })
    this.#running.set(_id, running)
  }

  #createSteps(context: StoreContext, { _id, job }: Job): JobSteps {
    const step = async (
      touch: (tx: Transaction) => Promise<{ matchedCount?: number; deletedCount?: number }>,
      work: Parameters<JobSteps['runStep']>[0],
    ) => {
      if (this.#isStopping) throw new LeaseLost()
      await runStoreTransaction(context, async (tx) => {
        this.#unfilteredSessions.add(tx.session)
        const { matchedCount, deletedCount } = await touch(tx)
        if (!matchedCount && !deletedCount) throw new LeaseLost()
        await work(tx)
      })
    }
    return {
      unfilteredDb: this.unfilteredDb,
      runStep: (work) =>
        step(({ session }) => {
          const change = { $set: { leaseUntil: newLeaseEnd() } }
          return this.#jobs.updateOne({ _id, job }, change, { session })
        }, work),
      runLastStep: (work = async () => {}) =>
        step(({ session }) => this.#jobs.deleteOne({ _id, job }, { session }), work),
    }
  }
}

interface QueryFilter {
  _rperm?: { $in?: readonly unknown[] }
  [field: string]: unknown
}

const isOtherId = (condition: unknown, id: string): boolean => {
  const value = (condition as { $eq?: unknown } | undefined)?.$eq ?? condition
  return typeof value === 'string' && value !== id
}

/** Queues a job, which starts after the commit. It replaces another job for the same object. */
export async function enqueueJob(
  context: Pick<StoreContext, 'db'>,
  tx: Transaction,
  caller: Caller,
  work: Omit<Job, '_id' | 'leaseUntil' | 'by'>,
): Promise<void> {
  const { userId, application, requestId, helper } = caller
  const requester = { userId, application, requestId, ...(helper && { acting: helper }) }
  const _id = jobId(work)
  const content = { ...work, by: requester, leaseUntil: newLeaseEnd() }
  await jobCollection(context).replaceOne({ _id }, content, { session: tx.session, upsert: true })
  tx.queuedJobs.push({ _id, ...content })
}

/** Maximum wait of a request for its job; a retry of the client then finds the job done. */
const JOB_WAIT_TIMEOUT_MS = 25_000

/** @throws Unavailable after the timeout; the job continues */
export async function waitForJob(
  { jobs }: Pick<StoreContext, 'jobs'>,
  key: Pick<Job, 'field' | 'id'>,
): Promise<void> {
  if (!(await jobs.waitUntilDone(jobId(key), JOB_WAIT_TIMEOUT_MS))) throw unavailableError()
}

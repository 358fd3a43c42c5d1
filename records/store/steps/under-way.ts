import { setTimeout as sleep } from 'node:timers/promises'
import type { ClientSession, Collection, Db } from 'mongodb'
import { type Loop, periodically } from '../batching/periodically.ts'
import type { Caller } from '../documents/caller.ts'
import type { Database } from '../documents/database.ts'
import { unavailable } from '../documents/outage.ts'
import type { Work, Works } from '../documents/work.ts'
import { inTransaction, type Records, type Transaction } from '../writing/transaction.ts'

/** The transactions of a work, each of which fails when somebody else has ended it. */
export interface Steps {
  /** Everything, also what is hidden. */
  db: Db
  one(work: (tx: Transaction) => Promise<unknown>): Promise<void>
  /** With it the work is done. */
  last(work?: (tx: Transaction) => Promise<unknown>): Promise<void>
}

/** Does a work, or what is left of it. */
export type Job = (work: Work, steps: Steps) => Promise<void>
export type Jobs = Readonly<Record<string, Job>>

/** A work is changed under this id: there is one at a time of what it is about. */
export const workId = ({ field, id }: Pick<Work, 'field' | 'id'>): string => `${field}$${id}`

/** A name that no Parse class can have: the class family never reaches it. */
export const worksOf = ({ db }: Pick<Database, 'db'>): Collection<Work> =>
  db.collection<Work>('work.underway')

const LOOK_MS = 1000
/** Longer than a step takes. */
const LEASE_MS = 5000
/** By then every other instance has looked. */
const KNOWN_MS = 2.5 * LOOK_MS

const leased = (): Date => new Date(Date.now() + LEASE_MS)

/** Another one does the work, or it is over. */
class Over extends Error {}

/** The works that are under way, as this instance knows them. @see docs/decisions/store.md */
export class UnderWay implements Works {
  readonly #db: Db
  readonly #veiled: ReadonlySet<string>
  readonly #others: boolean
  readonly #seeAll = new WeakSet<ClientSession>()
  readonly #running = new Map<string, Promise<void>>()
  #known = new Map<string, Work>()
  #changes = 0
  #ending = false
  #do: (work: Work) => Promise<void> = async () => {}

  /**
   * @param veiled the collections in which something can be hidden
   * @param others whether other instances may show what is under way until they have heard of it
   */
  constructor({ client, db }: Database, veiled: readonly string[], others: boolean) {
    // As the driver has it: what is hidden in the other one is here.
    this.#db = client.db(db.databaseName)
    this.#veiled = new Set(veiled)
    this.#others = others
  }

  /** Everything, also what is hidden. */
  get db(): Db {
    return this.#db
  }

  /** Goes on with what was left, and from now on with what others leave. */
  async serve(records: Records, jobs: Jobs, onFault: (fault: unknown) => void): Promise<Loop> {
    this.#do = async (work) => {
      const job = jobs[work.job]
      if (!job) throw new TypeError(`Nobody knows how to ${work.job}.`)
      await job(work, this.#stepsOf(records, work)).catch((fault) => {
        if (!(fault instanceof Over)) onFault(fault)
        throw fault
      })
    }
    await this.#look()
    const loop = periodically(LOOK_MS, () => this.#look(), onFault)
    const end = async () => {
      this.#ending = true
      await loop.end()
      const left = [...this.#running.keys()]
      await Promise.all(this.#running.values())
      // Whoever starts next need not wait.
      const free = { $set: { leaseUntil: new Date(0) } }
      if (left.length > 0) await worksOf({ db: this.#db }).updateMany({ _id: { $in: left } }, free)
    }
    return { wake: loop.wake, end }
  }

  /** Does a work that a transaction has written, from now on. */
  begin(work: Work): void {
    this.#known.set(work._id, work)
    this.#changes += 1
    this.#run(work, this.#others ? KNOWN_MS : 0)
  }

  /** Resolves when it is done. @returns false when it takes longer than that */
  async done(id: string, ms: number): Promise<boolean> {
    // What another instance has just begun is not known here yet.
    const isUnderWay = async () =>
      this.#known.has(id) || (await worksOf({ db: this.#db }).countDocuments({ _id: id })) > 0
    for (const end = Date.now() + ms; await isUnderWay(); await sleep(10)) if (Date.now() > end) return false
    return true
  }

  /** What in a collection is hidden: `{ ehrId: { $in: […] } }` and its like. */
  hiddenIn(collection: string, session: ClientSession | undefined): object[] {
    if (this.#known.size === 0 || !this.#veiled.has(collection)) return []
    if (session && this.#seeAll.has(session)) return []
    return [...this.#known.values()].flatMap(({ waiting, hidesPlan, field, id }) => [
      ...(waiting ? [] : [{ [field]: id }]),
      ...(hidesPlan && collection === 'CarePlan' ? [{ _id: id }] : []),
    ])
  }

  /** The works whose end a read has to wait for, since who asks would see what is half done. */
  awaitedBy(collection: string, filter: QueryFilter, session: ClientSession | undefined): string[] {
    if (this.#known.size === 0 || (session && this.#seeAll.has(session))) return []
    const readers = filter._rperm?.$in ?? []
    return [...this.#known.values()].flatMap((work) => {
      const { _id, waiting, field, id, ehrId } = work
      if (!waiting?.collections.includes(collection)) return []
      const elsewhere = isOther(filter[field], id) || isOther(filter.ehrId, ehrId)
      return !elsewhere && waiting.readers.some((who) => readers.includes(who)) ? [_id] : []
    })
  }

  async #look(): Promise<void> {
    const before = this.#changes
    const found = await worksOf({ db: this.#db }).find().toArray()
    // What was read may be older than what has been begun or ended here since.
    if (before !== this.#changes) return
    this.#known = new Map(found.map((work) => [work._id, work]))
    for (const work of found) if (work.leaseUntil.getTime() < Date.now()) await this.#takeOver(work)
  }

  async #takeOver(work: Work): Promise<void> {
    if (this.#ending || this.#running.has(work._id)) return
    const { _id, job, leaseUntil } = work
    const taken = { $set: { leaseUntil: leased() } }
    const { matchedCount } = await worksOf({ db: this.#db }).updateOne({ _id, job, leaseUntil }, taken)
    if (matchedCount > 0) this.#run(work, 0)
  }

  #run(work: Work, pauseMs: number): void {
    const { _id } = work
    const run = async () => {
      await this.#running.get(_id)
      if (pauseMs > 0) await sleep(pauseMs)
      try {
        await this.#do(work)
        if (this.#known.get(_id)?.job === work.job) this.#known.delete(_id)
        this.#changes += 1
      } catch {
        // It was told; whoever looks next goes on with it.
      }
    }
    const running = run().finally(() => {
      if (this.#running.get(_id) === running) this.#running.delete(_id)
    })
    this.#running.set(_id, running)
  }

  #stepsOf(records: Records, { _id, job }: Work): Steps {
    const works = worksOf({ db: this.#db })
    const step = async (touch: (tx: Transaction) => Promise<boolean>, work: Parameters<Steps['one']>[0]) => {
      if (this.#ending) throw new Over()
      await inTransaction(records, async (tx) => {
        this.#seeAll.add(tx.session)
        if (!(await touch(tx))) throw new Over()
        await work(tx)
      })
    }
    return {
      db: this.#db,
      one: (work) =>
        step(async ({ session }) => {
          const change = { $set: { leaseUntil: leased() } }
          return (await works.updateOne({ _id, job }, change, { session })).matchedCount > 0
        }, work),
      last: (work = async () => {}) =>
        step(
          async ({ session }) => (await works.deleteOne({ _id, job }, { session })).deletedCount > 0,
          work,
        ),
    }
  }
}

/** What of a query tells whether it can find part of a work. */
export interface QueryFilter {
  _rperm?: { $in?: readonly unknown[] }
  [field: string]: unknown
}

const isOther = (condition: unknown, id: string): boolean => {
  const value = (condition as { $eq?: unknown } | undefined)?.$eq ?? condition
  return typeof value === 'string' && value !== id
}

/** Writes that a work is to be done, which begins when the transaction has been committed. It takes the place of another one about the same. */
export async function beginWork(
  records: Pick<Records, 'db'>,
  tx: Transaction,
  caller: Caller,
  work: Omit<Work, '_id' | 'leaseUntil' | 'by'>,
): Promise<void> {
  const { userId, application, requestId } = caller
  const { _id, ...content } = {
    ...work,
    _id: workId(work),
    by: { userId, application, requestId },
    leaseUntil: leased(),
  }
  await worksOf(records).replaceOne({ _id }, content, { session: tx.session, upsert: true })
  tx.begun.push({ _id, ...content })
}

/** For as long a request waits for a work that it has begun; who comes again then finds it done. */
const PATIENCE_MS = 25_000

/** @throws Unavailable when it takes longer than a client waits; it goes on all the same */
export async function untilDone(
  { underWay }: Pick<Records, 'underWay'>,
  about: Pick<Work, 'field' | 'id'>,
): Promise<void> {
  if (!(await underWay.done(workId(about), PATIENCE_MS))) throw unavailable()
}

import type { Collection, Document } from 'mongodb'
import { ServiceError } from '../../../schemas/errors.ts'
import { createGroups } from '../batching/group.ts'
import type { Permissions } from '../documents/caller.ts'
import { documentsOf, isInDoubt } from '../documents/database.ts'
import { isConflict, isOutage } from '../documents/outage.ts'
import type { ParseDocument } from '../documents/parse-format.ts'
import { type Companion, documentsById, rulesIn, writeCompanions } from './companions.ts'
import type { Decision } from './decision.ts'
import { inTransaction, type Records, type Transaction } from './transaction.ts'
import { type Held, takeToAdd } from './turns.ts'

/** What a new record is registered in. Nobody closes or removes it while the record is being written. */
export interface Into {
  collection: 'Ehr' | 'CarePlan' | 'ChatTopic'
  /** Its id, and what else must be true of it. */
  key: { _id: string; [field: string]: string }
  /** None when it is no EHR's. */
  ehrId: string | undefined
  /** Whether those may register in it who may only read it. */
  byReaders?: true
  /** What of it changes with each record, in the words of the database; it makes no version of it. */
  touched?(at: Date): Document
  /** Who may see what is registered in it. @throws ServiceError what forbids it */
  permissions(holder: ParseDocument): Permissions
  /** A record of another collection that has to be there when the write is done. */
  holding?: Held
}

/** A write of one collection, decided when the records that it depends on are at hand. */
export interface Write<R> {
  /** The record that is replaced or removed; null: only new ones are added. */
  id: string | null
  into?: Into | undefined
  /**
   * May be asked again, when another write came in between.
   * @param before the record that is replaced or removed
   * @param holder what a new one is registered in
   * @throws ServiceError what forbids the write
   */
  decide(before: ParseDocument | null, holder: ParseDocument | null): Decision<R>
}

interface Pending {
  write: Write<unknown>
  resolve(result: never): void
  reject(reason: unknown): void
}

/** Writes in one transaction; each of them holds the response to a request. */
const MOST = 100

/** While one transaction is on its way to the disk, and one waits to be, the next one is put together. */
const AT_ONCE = 3

/** What a write shares with others: of two transactions that touch it, one would be done in vain. */
const keysOf = ({ write: { id, into } }: Pending): string[] =>
  [id, into?.touched && into.key._id].filter((key) => typeof key === 'string')

/** The writes of one collection. Those that arrive while others are being written share the next transaction. */
export class Writer {
  readonly #records: Records
  readonly #documents: Collection<ParseDocument>
  readonly #companion: Companion | undefined
  readonly #groups

  constructor(records: Records, documents: Collection<ParseDocument>, companion?: Companion) {
    this.#records = records
    this.#documents = documents
    this.#companion = companion
    this.#groups = createGroups<Pending>(
      MOST,
      async (group) => {
        for (const batch of withoutRepeats(group)) await this.#together(batch)
      },
      { atOnce: AT_ONCE, keysOf },
    )
  }

  /** Writes as a part of `tx`; without one together with others, where what forbids one does not touch the rest. */
  async write<R>(write: Write<R>, tx?: Transaction): Promise<R> {
    if (tx) return resultOf((await this.#perform(tx, [write]))[0] as Outcome<R>)
    if (write.into?.ehrId !== undefined) await this.#records.turns.free(write.into.ehrId)
    return new Promise((resolve, reject) => {
      this.#groups.add([{ write, resolve, reject }]).catch(reject)
    })
  }

  /** Writes all of them as a part of `tx`: one read and one write. What forbids one of them ends it. */
  async writeAll<R>(writes: Write<R>[], tx: Transaction): Promise<R[]> {
    return (await this.#perform(tx, writes)).map(resultOf)
  }

  /** One attempt for all. When it meets other writers, or one of them is impossible, each goes on by itself. */
  async #together(batch: Pending[]): Promise<void> {
    const writes = batch.map(({ write }) => write)
    try {
      const outcomes = await inTransaction(this.#records, (tx) => this.#perform(tx, writes), {
        repeated: false,
      })
      for (const [i, pending] of batch.entries()) settle(pending, outcomes[i] as Outcome<unknown>)
    } catch (error) {
      if (isInDoubt(error) || (isOutage(error) && !isConflict(error)))
        for (const { reject } of batch) reject(error)
      else for (const pending of batch) void this.#alone(pending)
    }
  }

  async #alone(pending: Pending): Promise<void> {
    try {
      const [outcome] = await inTransaction(this.#records, (tx) => this.#perform(tx, [pending.write]))
      settle(pending, outcome as Outcome<unknown>)
    } catch (error) {
      pending.reject(error)
    }
  }

  async #perform<R>(tx: Transaction, writes: Write<R>[]): Promise<Outcome<R>[]> {
    const { session, changes, accesses } = tx
    const holders = await this.#holders(
      tx,
      writes.flatMap(({ into }) => into ?? []),
    )
    const ids = writes.flatMap(({ id }) => (id === null ? [] : [id]))
    for (const id of ids) tx.turn.meet(id)
    const before = await documentsById(this.#documents, ids, session)
    const outcomes = writes.map((write) =>
      decided(write, before.get(write.id ?? '') ?? null, holders.get(write.into?.key._id ?? '') ?? null),
    )
    const decisions = outcomes.flatMap(({ decision }) => (decision ? [decision] : []))
    const operations = decisions.flatMap(({ operations }) => operations)
    if (operations.length === 0) return outcomes
    const entered = writes.flatMap(({ into }, i) => (into && outcomes[i]?.decision ? [into] : []))
    const held = entered.flatMap(({ holding }) => holding ?? [])
    await this.#requireHeld(tx, held)
    await takeToAdd(
      this.#records,
      tx,
      entered.flatMap(({ ehrId }) => ehrId ?? []),
      held,
    )
    await this.#touch(tx, entered)
    const done = await this.#documents.bulkWrite(operations, { session, ordered: false })
    if (done.insertedCount + done.matchedCount + done.deletedCount < operations.length) {
      throw new ServiceError('Conflict', { detail: 'Another request changed it at the same time.' })
    }
    for (const decision of decisions) {
      changes.push(...decision.changes)
      accesses.push(...decision.accesses)
    }
    const companions = decisions.flatMap((decision) => decision.companions ?? [])
    if (this.#companion && companions.length > 0) {
      const known = new Map([...holders].map(([id, holder]) => [id, rulesIn(holder)]))
      await writeCompanions(this.#records, tx, this.#companion.rules, companions, known)
    }
    return outcomes
  }

  /** @throws Conflict when one of them has been removed */
  async #requireHeld({ session }: Transaction, held: readonly Held[]): Promise<void> {
    for (const name of new Set(held.map(({ collection }) => collection))) {
      const ids = [...new Set(held.flatMap(({ collection, id }) => (collection === name ? [id] : [])))]
      const there = documentsOf(this.#records, name).find({ _id: { $in: ids } }, { session })
      if ((await there.project({ _id: 1 }).toArray()).length < ids.length)
        throw new ServiceError('Conflict', { detail: 'What it is registered in has been removed.' })
    }
  }

  /** Each once: what changes is the same for all that are registered in it at this moment. */
  async #touch({ session }: Transaction, entered: readonly Into[]): Promise<void> {
    const touched = new Map(entered.flatMap((into) => (into.touched ? [[into.key._id, into] as const] : [])))
    const operations = [...touched].map(([_id, { touched }]) => ({
      updateOne: { filter: { _id }, update: touched?.(this.#records.clock()) ?? {} },
    }))
    const [first] = touched.values()
    if (first)
      await documentsOf(this.#records, first.collection).bulkWrite(operations, { session, ordered: false })
  }

  /** What the new records are registered in, by id. */
  async #holders({ session }: Transaction, into: Into[]): Promise<Map<string, ParseDocument>> {
    const holders = new Map<string, ParseDocument>()
    for (const name of new Set(into.map(({ collection }) => collection))) {
      const ids = into.flatMap(({ collection, key }) => (collection === name ? [key._id] : []))
      for (const [id, holder] of await documentsById(
        documentsOf(this.#records, name),
        ids,
        session,
        this.#companion,
      ))
        holders.set(id, holder)
    }
    return holders
  }
}

/** What was decided, or what forbids it. */
type Outcome<R> = { decision: Decision<R>; error?: never } | { decision?: never; error: unknown }

function decided<R>(write: Write<R>, before: ParseDocument | null, holder: ParseDocument | null): Outcome<R> {
  try {
    return { decision: write.decide(before, holder) }
  } catch (error) {
    return { error }
  }
}

function resultOf<R>({ decision, error }: Outcome<R>): R {
  if (decision) return decision.result
  throw error
}

function settle({ resolve, reject }: Pending, { decision, error }: Outcome<unknown>): void {
  if (decision) resolve(decision.result as never)
  else reject(error)
}

/** Batches in which each record occurs once, so that every write sees what the one before it left. */
function withoutRepeats(group: Pending[]): Pending[][] {
  const batches: Pending[][] = []
  const seen = new Map<string, number>()
  for (const pending of group) {
    const { id } = pending.write
    const turn = id === null ? 0 : (seen.get(id) ?? 0)
    if (id !== null) seen.set(id, turn + 1)
    batches[turn] = [...(batches[turn] ?? []), pending]
  }
  return batches
}

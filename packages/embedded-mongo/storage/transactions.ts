/**
 * Multi-document transactions. Changes wait in memory on top of a snapshot. A transaction claims the keys
 * that it touches: another transaction conflicts, and a writer outside waits. A commit is one write of the
 * storage.
 */

import { CommandError, createTransientError } from '../values/errors.ts'
import type { Catalog, Collection } from './collections/catalog.ts'
import { countDifference, isCountKey } from './collections/records.ts'
import { Overlay, type View, type WritableView } from './disk/overlay.ts'
import type { Snapshot, Storage } from './disk/storage.ts'
import type { LastWrites, WriteId } from './last-writes.ts'

/** Thrown by a write outside transactions that meets a claim. It can retry when the transaction has ended. */
export class BlockedByTransaction extends Error {
  readonly transaction: EngineTransaction
  constructor(transaction: EngineTransaction) {
    super('blocked by a transaction')
    this.transaction = transaction
  }
}

export class EngineTransaction {
  readonly id: WriteId
  readonly snapshot: Snapshot
  readonly view: Overlay
  readonly catalogVersion: number
  /** The spaces that it has written to. */
  readonly writtenSpaces = new Set<number>()
  readonly claimedNames: string[] = []
  readonly completion: Promise<void>
  #end: () => void = () => {}
  timer: NodeJS.Timeout | undefined
  /** The connection of its last command. */
  connectionId = 0
  /** The end of its last command; undefined while a command runs. */
  idleSince: number | undefined
  state: 'active' | 'committing' | 'committed' | 'aborted' = 'active'
  /** The commit, running or done: a retried commit gets the same answer. */
  commit: Promise<void> | undefined

  constructor(id: WriteId, snapshot: Snapshot, catalogVersion: number) {
    this.id = id
    this.snapshot = snapshot
    this.view = new Overlay(snapshot)
    this.catalogVersion = catalogVersion
    this.completion = new Promise((resolve) => {
      this.#end = resolve
    })
  }

  close(state: 'committed' | 'aborted'): void {
    this.state = state
    clearTimeout(this.timer)
    this.snapshot.release()
    this.#end()
  }
}

export interface LogicalSession {
  number: bigint
  transaction: EngineTransaction | undefined
}

const MAX_SESSIONS = 10_000

export class Transactions {
  readonly #storage: Storage
  readonly #lastWrites: LastWrites
  /** The maximum age of a transaction. */
  lifetimeMs = 60_000
  readonly #claims = new Map<string, EngineTransaction>()
  readonly #sessions = new Map<string, LogicalSession>()
  readonly #unclaimed: (space: number) => boolean
  /** The spaces of the collections that each waiting change of a definition needs for itself. */
  readonly #waiting = new Set<Set<number>>()

  /** @param catalog a transaction that has claimed a record need not claim the entries derived from it */
  constructor(storage: Storage, lastWrites: LastWrites, catalog: Pick<Catalog, 'isDerived'>) {
    this.#storage = storage
    this.#lastWrites = lastWrites
    this.#unclaimed = (space) => space === 0 || catalog.isDerived(space)
  }

  /** @throws 225 for a number that is not newer than the session's last one */
  start(id: string, number: bigint, catalogVersion: number): EngineTransaction {
    const last = this.#sessions.get(id)
    if (last && number < last.number)
      throw createTransientError(
        225,
        `Transaction ${number} is older than ${last.number}, which has started.`,
      )
    if (last?.number === number)
      throw new CommandError(50911, `Transaction ${number} has already been started.`)
    if (last?.transaction?.state === 'active') this.abort(last.transaction)
    const transaction = new EngineTransaction(
      { session: id, number },
      this.#storage.snapshot(),
      catalogVersion,
    )
    transaction.timer = setTimeout(() => this.abort(transaction), this.lifetimeMs)
    this.#sessions.delete(id)
    this.#sessions.set(id, { number, transaction })
    this.#forgetOldest()
    return transaction
  }

  #forgetOldest(): void {
    if (this.#sessions.size <= MAX_SESSIONS) return
    for (const [id, { transaction }] of this.#sessions) {
      if (transaction?.state !== 'active') this.#sessions.delete(id)
      if (this.#sessions.size <= MAX_SESSIONS) return
    }
  }

  has(id: string, number: bigint): boolean {
    return this.#sessions.get(id)?.number === number
  }

  /** The session's transaction of that number, in any state. @throws 251 */
  find(id: string, number: bigint): EngineTransaction {
    const session = this.#sessions.get(id)
    if (!session?.transaction || session.number !== number) throw createMissingError(number)
    return session.transaction
  }

  /** @throws 251 if it has ended */
  active(id: string, number: bigint): EngineTransaction {
    const transaction = this.find(id, number)
    checkActive(transaction)
    return transaction
  }

  /** Transactions that have not ended. */
  open(): EngineTransaction[] {
    const transactions = [...this.#sessions.values()].map(({ transaction }) => transaction)
    return transactions.filter(
      (transaction): transaction is EngineTransaction => transaction?.state === 'active',
    )
  }

  endSession(id: string): void {
    const session = this.#sessions.get(id)
    if (session?.transaction?.state === 'active') this.abort(session.transaction)
    this.#sessions.delete(id)
  }

  /** The view for a writer outside transactions: it refuses keys that a transaction has claimed. */
  guard(view: WritableView): WritableView {
    if (this.#claims.size === 0) return view
    const check = (key: Buffer) => {
      if (this.#unclaimed(key.readUInt32BE(0))) return
      const owner = this.#claims.get(key.toString('latin1'))
      if (owner) throw new BlockedByTransaction(owner)
    }
    return {
      get: (key) => view.get(key),
      range: (...bounds) => view.range(...bounds),
      keys: (...bounds) => view.keys(...bounds),
      visit: (...bounds) => view.visit(...bounds),
      count: (low, high) => view.count(low, high),
      put: (key, value) => {
        check(key)
        view.put(key, value)
      },
      remove: (key) => {
        check(key)
        view.remove(key)
      },
    }
  }

  /**
   * Makes a change of the collection's definition wait for transactions that write to it. No other
   * transaction may begin to write to it until `endWait`.
   */
  checkUntouched({ space }: Collection, wait: Set<number>): void {
    this.#waiting.add(wait.add(space))
    for (const transaction of new Set(this.#claims.values()))
      if (transaction.writtenSpaces.has(space)) throw new BlockedByTransaction(transaction)
  }

  endWait(wait: Set<number>): void {
    this.#waiting.delete(wait)
  }

  /**
   * Runs a statement. Queued writers will meet its claims; the writers before them have finished deciding.
   * @throws 112 if it meets another transaction's claim or a later write, 251 if the transaction has ended meanwhile
   */
  write<T>(transaction: EngineTransaction, run: (view: WritableView) => T): T {
    checkActive(transaction)
    const statement = new Overlay(transaction.view)
    const value = run(statement)
    const claimedKeys = this.#claim(transaction, statement)
    if (!this.#storage.isCurrent(transaction.snapshot))
      checkUnchanged(transaction.snapshot, this.#storage.latest, claimedKeys)
    statement.applyTo(transaction.view)
    return value
  }

  #claim(transaction: EngineTransaction, statement: Overlay): Buffer[] {
    const fresh: Buffer[] = []
    for (const [name, { key }] of statement.changes(this.#unclaimed)) {
      const owner = this.#claims.get(name)
      if (owner === transaction) continue
      if (owner) throw createConflictError()
      const space = key.readUInt32BE(0)
      if (!transaction.writtenSpaces.has(space)) this.#checkNobodyWaits(space)
      this.#claims.set(name, transaction)
      transaction.writtenSpaces.add(space)
      transaction.claimedNames.push(name)
      fresh.push(key)
    }
    return fresh
  }

  /** A wait of the transaction could be a deadlock. @throws 24 */
  #checkNobodyWaits(space: number): void {
    for (const wait of this.#waiting)
      if (wait.has(space))
        throw createTransientError(24, 'Unable to acquire lock: a command waits to change the collection.')
  }

  commit(transaction: EngineTransaction): Promise<void> {
    transaction.commit ??= this.#commit(transaction)
    return transaction.commit
  }

  async #commit(transaction: EngineTransaction): Promise<void> {
    const { id, snapshot, view } = transaction
    // From here on neither its age nor a lost connection ends it.
    transaction.state = 'committing'
    try {
      await this.#storage.write((latest) => {
        for (const [, { key, value }] of view.changes(isDataSpace)) {
          if (!value) latest.remove(key)
          else
            latest.put(
              key,
              isCountKey(key) ? countDifference(latest.get(key), value, snapshot.get(key)) : value,
            )
        }
        view.applyTo(latest, isCatalogSpace)
        if (!view.empty) this.#lastWrites.recordCommit(latest, id)
      })
      this.#release(transaction, 'committed')
    } catch (error) {
      this.#release(transaction, 'aborted')
      throw error
    }
  }

  abort(transaction: EngineTransaction): void {
    if (transaction.state === 'active') this.#release(transaction, 'aborted')
  }

  #release(transaction: EngineTransaction, state: 'committed' | 'aborted'): void {
    for (const name of transaction.claimedNames) this.#claims.delete(name)
    transaction.close(state)
  }

  /** Aborts the transactions whose last command came over this connection; without one, all. */
  abortAll(connectionId?: number): void {
    for (const { transaction } of this.#sessions.values())
      if (transaction && (connectionId === undefined || transaction.connectionId === connectionId))
        this.abort(transaction)
  }
}

/** The catalogue's space, which also contains the counts. */
const isCatalogSpace = (space: number): boolean => space === 0
const isDataSpace = (space: number): boolean => space !== 0

const createMissingError = (number: bigint) =>
  createTransientError(251, `Given transaction number ${number} does not match any in-progress transactions.`)

/** A command runs in steps, and its transaction may end between two of them. @throws 251 */
export const checkActive = ({ state, id }: EngineTransaction): void => {
  if (state !== 'active') throw createMissingError(id.number)
}

const createConflictError = () =>
  createTransientError(112, 'WriteConflict: another operation changed the same data. Please retry.')

const checkUnchanged = (snapshot: View, latest: View, keys: Buffer[]): void => {
  for (const key of keys) {
    const before = snapshot.get(key)
    const now = latest.get(key)
    if (before === undefined || now === undefined ? before !== now : !before.equals(now))
      throw createConflictError()
  }
}

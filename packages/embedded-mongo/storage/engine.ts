/** The engine: its parts together, as commands use them. */

import { fail, MissingCollection } from '../values/errors.ts'
import type { CommandTimer } from '../values/steps.ts'
import { Catalog, type Collection, checkNamespace, markFlagsStored } from './collections/catalog.ts'
import type { Index } from './collections/indexes.ts'
import { markDiscarded, purgeDiscarded, RecordIds } from './collections/records.ts'
import type { WritableView } from './disk/overlay.ts'
import { Storage } from './disk/storage.ts'
import { LastWrites } from './last-writes.ts'
import { Cursors } from './queries/cursors.ts'
import { BlockedByTransaction, Transactions } from './transactions.ts'

export class Engine {
  readonly storage: Storage
  readonly catalog = new Catalog()
  readonly cursors = new Cursors()
  readonly ids = new RecordIds()
  readonly transactions: Transactions
  readonly lastWrites = new LastWrites()
  /** The address that it listens on. */
  address = ''
  /** The names of the client applications, by connection. */
  readonly applications = new Map<number, string>()
  /** The address of each connected client, by the number of its connection. */
  readonly clients = new Map<number, string>()
  /** The pause between two rounds of the TTL monitor. */
  ttlSleepSeconds = 60

  #closing = false
  readonly #builds = new Map<string, Promise<unknown>>()
  #purging: Promise<void> | undefined

  constructor(file: string) {
    this.storage = new Storage(file)
    this.#load()
    this.storage.onFailedCommit = () => this.#load()
    this.transactions = new Transactions(this.storage, this.lastWrites, this.catalog)
  }

  #load(): void {
    this.catalog.load(this.storage)
    this.lastWrites.load(this.storage)
  }

  /**
   * A write outside transactions. If a transaction has claimed something that it needs, it waits with nothing
   * changed. If its collection is missing, it creates it and begins again.
   */
  async write<T>(run: (view: WritableView) => T, commandTimer?: CommandTimer): Promise<T> {
    for (;;) {
      try {
        let writtenView: WritableView | undefined
        const result = await this.storage.write((view) => {
          commandTimer?.startSlice()
          writtenView = view
          return run(this.transactions.guard(view))
        })
        if (writtenView) markFlagsStored(writtenView)
        return result
      } catch (error) {
        if (error instanceof MissingCollection) await this.ensure(error.db, error.collection)
        else if (error instanceof BlockedByTransaction)
          await waitUntilEnded(error.transaction.completion, commandTimer)
        else throw error
      }
    }
  }

  /**
   * Changes a collection's definition. Waits for transactions that write to the collection, or to the one
   * named `other`.
   */
  async changeDefinition<T>(
    ns: string,
    run: (view: WritableView, collection: Collection) => T,
    { timer, other = ns }: { timer?: CommandTimer; other?: string } = {},
  ): Promise<T> {
    const wait = new Set<number>()
    try {
      return await this.write((view) => {
        const collection = this.catalog.get(ns)
        for (const one of [collection, this.catalog.find(other)])
          if (one) this.transactions.checkUntouched(one, wait)
        return run(view, collection)
      }, timer)
    } finally {
      this.transactions.endWait(wait)
    }
  }

  /** Returns the collection; creates it if it does not exist. */
  async ensure(db: string, name: string): Promise<Collection> {
    const ns = `${db}.${checkNamespace(db, name)}`
    const collection = this.catalog.find(ns)
    return collection ?? this.write((view) => this.catalog.find(ns) ?? this.catalog.create(view, db, name))
  }

  /** Removes a collection; its bytes are removed in the background. */
  drop(view: WritableView, collection: Collection): void {
    this.#discardIndexes(view, collection.indexes)
    this.discard(view, [collection])
    this.catalog.drop(view, collection)
  }

  dropIndexes(view: WritableView, collection: Collection, indexes: readonly Index[]): void {
    const existingIndexes = collection.indexes.filter((index) => indexes.includes(index))
    this.#discardIndexes(view, existingIndexes)
    this.catalog.setIndexes(
      view,
      collection,
      collection.indexes.filter((index) => !existingIndexes.includes(index)),
    )
  }

  /** Runs one index build at a time in a collection. A request for the same index waits until it exists. */
  async runIndexBuild<T>(ns: string, run: () => Promise<T>): Promise<T> {
    const before = this.#builds.get(ns)
    const mine = (before ?? Promise.resolve()).catch(() => {}).then(run)
    this.#builds.set(ns, mine)
    try {
      return await mine
    } finally {
      if (this.#builds.get(ns) === mine) this.#builds.delete(ns)
    }
  }

  /** Drops the indexes whose build was interrupted by the end of the process. */
  async dropUnfinishedIndexes(): Promise<void> {
    for (const { ns, indexes } of this.catalog.list()) {
      const unfinishedIndexes = indexes.filter(({ ready }) => !ready)
      if (unfinishedIndexes.length > 0)
        await this.changeDefinition(ns, (view, collection) =>
          this.dropIndexes(view, collection, unfinishedIndexes),
        )
    }
  }

  /** Readers on their way through the indexes fail: the entries disappear. */
  #discardIndexes(view: WritableView, indexes: readonly Index[]): void {
    for (const index of indexes) index.ready = false
    this.discard(view, indexes)
  }

  /** Marks spaces for removal. */
  discard(view: WritableView, owners: readonly { space: number }[]): void {
    for (const { space } of owners) markDiscarded(view, space)
    this.purge()
  }

  /** Removes discarded bytes in the background, a few at a time. */
  purge(): void {
    this.#purging ??= this.#purge().catch((error) => {
      process.stderr.write(`embedded-mongo: removing dropped data failed, will try again: ${error}\n`)
    })
  }

  async #purge(): Promise<void> {
    try {
      while (!this.#closing && (await this.storage.write(purgeDiscarded))) await new Promise(setImmediate)
    } finally {
      this.#purging = undefined
    }
  }

  async close(): Promise<void> {
    this.#closing = true
    this.transactions.abortAll()
    await this.#purging
    await this.storage.close()
  }
}

const waitUntilEnded = async (completion: Promise<void>, commandTimer?: CommandTimer): Promise<void> => {
  if (!commandTimer || commandTimer.remainingMs === Number.POSITIVE_INFINITY) return completion
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      try {
        fail(50, 'operation exceeded time limit')
      } catch (error) {
        reject(error)
      }
    }, commandTimer.remainingMs)
  })
  try {
    await Promise.race([completion, timeout])
  } finally {
    clearTimeout(timer)
  }
}

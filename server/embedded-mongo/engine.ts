/** The parts put together: what commands work on. */
import { Catalog, type Collection, checkNamespace } from './catalog.ts'
import { Cursors } from './cursors.ts'
import { fail } from './errors.ts'
import { RecordIds } from './records.ts'
import { Storage, type WritableView } from './storage.ts'
import { Blocked, Transactions } from './transactions.ts'

export class Engine {
  readonly storage: Storage
  readonly catalog = new Catalog()
  readonly cursors = new Cursors()
  readonly ids = new RecordIds()
  readonly transactions: Transactions
  readonly startedAt = Date.now()
  /** How long the TTL monitor rests between two rounds. */
  ttlSleepSeconds = 60

  constructor(file: string) {
    this.storage = new Storage(file)
    this.catalog.load(this.storage)
    this.transactions = new Transactions(this.storage)
  }

  /** A write outside transactions: waits, without having changed anything, while a transaction claims what it touches. */
  async write<T>(run: (view: WritableView) => T, deadline = Number.POSITIVE_INFINITY): Promise<T> {
    for (;;) {
      try {
        return await this.storage.write((view) => run(this.transactions.guard(view)))
      } catch (error) {
        if (!(error instanceof Blocked)) throw error
        await until(error.transaction.ended, deadline)
      }
    }
  }

  /** A change of a collection's definition; waits for transactions that write to it. */
  changeDefinition<T>(ns: string, run: (view: WritableView, collection: Collection) => T): Promise<T> {
    return this.write((view) => {
      const collection = this.catalog.get(ns)
      this.transactions.checkUntouched(collection)
      return run(view, collection)
    })
  }

  /** The collection, made when it does not exist yet. */
  async ensure(db: string, name: string): Promise<Collection> {
    const ns = `${db}.${checkNamespace(db, name)}`
    const known = this.catalog.find(ns)
    return known ?? this.write((view) => this.catalog.find(ns) ?? this.catalog.create(view, db, name))
  }

  async close(): Promise<void> {
    this.transactions.abortAll()
    await this.storage.close()
  }
}

const until = async (ended: Promise<void>, deadline: number): Promise<void> => {
  if (deadline === Number.POSITIVE_INFINITY) return ended
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => {
        try {
          fail(50, 'operation exceeded time limit')
        } catch (error) {
          reject(error)
        }
      },
      Math.max(0, deadline - Date.now()),
    )
  })
  try {
    await Promise.race([ended, late])
  } finally {
    clearTimeout(timer)
  }
}

import type { TObject } from '@sinclair/typebox'
import type { Comparison, Values } from '../registered/kind.ts'
import { type Holders, Registered, type RegisteredKind } from '../registered/registered.ts'
import type { Caller } from '../store/documents/caller.ts'
import type { PageQuery } from '../store/reading/listing.ts'
import type { Records } from '../store/writing/transaction.ts'

/** The arguments of the method of the same name. */
type ArgumentsOf<W extends 'list' | 'get' | 'create' | 'replace' | 'restore'> = Parameters<
  Registered<TObject, string>[W]
>

/**
 * The records of a kind that tell how they compare with the former one. It is looked for when they are read: what was
 * corrected, added or deleted before them counts at once, and no other record has to be written for it.
 */
export class Compared<S extends TObject, L extends string> extends Registered<S, L> {
  readonly #comparison: Comparison

  constructor(records: Records, kind: RegisteredKind<S, L>, holders: Holders, comparison: Comparison) {
    super(records, kind, holders)
    this.#comparison = comparison
  }

  override async list(...args: ArgumentsOf<'list'>) {
    const found = await super.list(...args)
    return { ...found, items: await this.#compared(args[0], found.items) }
  }

  override async get(...args: ArgumentsOf<'get'>) {
    return this.#one(args[0], await super.get(...args))
  }

  override async create(...args: ArgumentsOf<'create'>) {
    return this.#one(args[0], await super.create(...args))
  }

  override async replace(...args: ArgumentsOf<'replace'>) {
    return this.#one(args[0], await super.replace(...args))
  }

  override async restore(...args: ArgumentsOf<'restore'>) {
    return this.#one(args[0], await super.restore(...args))
  }

  async #one<R extends object>(caller: Caller, record: R): Promise<R> {
    const [compared] = await this.#compared(caller, [record])
    return compared ?? record
  }

  /**
   * A page holds all of a plan between its first and its last record, so that most former ones are in it. What is told
   * of others is named, for the ETag.
   */
  async #compared<R extends object>(caller: Caller, page: readonly R[]): Promise<R[]> {
    const { told } = this.#comparison
    const newestFirst = (page as readonly Values[]).toSorted((a, b) => compare(b.timestamp, a.timestamp))
    const places = new Map(newestFirst.map((record, i) => [record, i]))
    return Promise.all(
      page.map(async (record) => {
        const now = record as Values
        if (!this.#isComparable(now)) return record
        const older = newestFirst.slice((places.get(now) ?? 0) + 1)
        const former = older.find((one) => this.#isFormer(now, one)) ?? (await this.#formerOf(caller, now))
        return former ? { ...record, ...told(now, former), others: [former] } : record
      }),
    )
  }

  #isComparable(record: Values): boolean {
    return typeof record[this.#comparison.of] === 'number'
  }

  #isFormer(now: Values, one: Values): boolean {
    const isAlike = this.#comparison.alike.every((name) => one[name] === now[name])
    return isAlike && this.#isComparable(one) && compare(one.timestamp, now.timestamp) < 0
  }

  async #formerOf(caller: Caller, now: Values): Promise<Values | undefined> {
    const { alike, of } = this.#comparison
    const where = {
      ...Object.fromEntries(alike.map((name) => [name, now[name]])),
      [of]: { not: null },
      timestamp: { to: now.timestamp },
    }
    const query = { where, limit: 1 } as PageQuery<never>
    return (await this.store.list(caller, 'ofPlan' as L, query)).items[0] as Values | undefined
  }
}

/** Both in UTC, to the millisecond. */
const compare = (a: unknown, b: unknown): number => (String(a) < String(b) ? -1 : a === b ? 0 : 1)

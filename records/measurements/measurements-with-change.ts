import type { TObject } from '@sinclair/typebox'
import { type EhrRecordKind, EhrRecords } from '../ehr-records/ehr-records.ts'
import type { Comparison, Values } from '../ehr-records/kind.ts'
import type { Caller } from '../store/documents/caller.ts'
import type { PageQuery } from '../store/reading/pages.ts'
import type { StoreContext } from '../store/writing/transaction.ts'

/** The arguments of the method of the same name. */
type ArgumentsOf<W extends 'list' | 'get' | 'create' | 'replace' | 'restore'> = Parameters<
  EhrRecords<TObject, string>[W]
>

/**
 * The records of a kind that show their change since the previous one. The change is computed when they are
 * read. So a correction, addition or deletion before them counts at once, without a write to another record.
 */
export class MeasurementsWithChange<S extends TObject, L extends string> extends EhrRecords<S, L> {
  readonly #comparison: Comparison

  constructor(context: StoreContext, kind: EhrRecordKind<S, L>, comparison: Comparison) {
    super(context, kind)
    this.#comparison = comparison
  }

  override async list(...args: ArgumentsOf<'list'>) {
    const page = await super.list(...args)
    return { ...page, items: await this.#withChanges(args[0], page.items) }
  }

  override async get(...args: ArgumentsOf<'get'>) {
    return this.#withChange(args[0], await super.get(...args))
  }

  override async create(...args: ArgumentsOf<'create'>) {
    return this.#withChange(args[0], await super.create(...args))
  }

  override async replace(...args: ArgumentsOf<'replace'>) {
    return this.#withChange(args[0], await super.replace(...args))
  }

  override async restore(...args: ArgumentsOf<'restore'>) {
    return this.#withChange(args[0], await super.restore(...args))
  }

  async #withChange<R extends object>(caller: Caller, record: R): Promise<R> {
    const [recordWithChange] = await this.#withChanges(caller, [record])
    return recordWithChange ?? record
  }

  /**
   * A page contains all records of a plan between its first and its last one, hence most of the previous
   * records. `others` names the previous record, for the ETag.
   */
  async #withChanges<R extends object>(caller: Caller, page: readonly R[]): Promise<R[]> {
    const { describeChange } = this.#comparison
    const newestFirst = (page as readonly Values[]).toSorted((a, b) => compareTimes(b.timestamp, a.timestamp))
    const indexByRecord = new Map(newestFirst.map((record, i) => [record, i]))
    return Promise.all(
      page.map(async (record) => {
        const current = record as Values
        if (!this.#isComparable(current)) return record
        const older = newestFirst.slice((indexByRecord.get(current) ?? 0) + 1)
        const former =
          older.find((one) => this.#isFormer(current, one)) ?? (await this.#findFormer(caller, current))
        return former ? { ...record, ...describeChange(current, former), others: [former] } : record
      }),
    )
  }

  #isComparable(record: Values): boolean {
    return typeof record[this.#comparison.comparedField] === 'number'
  }

  #isFormer(current: Values, one: Values): boolean {
    const isAlike = this.#comparison.sameFields.every((name) => one[name] === current[name])
    return isAlike && this.#isComparable(one) && compareTimes(one.timestamp, current.timestamp) < 0
  }

  async #findFormer(caller: Caller, current: Values): Promise<Values | undefined> {
    const { sameFields, comparedField } = this.#comparison
    const where = {
      ...Object.fromEntries(sameFields.map((name) => [name, current[name]])),
      [comparedField]: { not: null },
      timestamp: { to: current.timestamp },
    }
    const query = {
      where,
      either: [{ ehrId: { checked: current.ehrId } }],
      limit: 1,
    } as unknown as PageQuery<never>
    return (await this.store.list(caller, 'ofPlan' as L, query)).items[0] as Values | undefined
  }
}

/** Both are in UTC with milliseconds, so they compare as texts. */
const compareTimes = (a: unknown, b: unknown): number => (String(a) < String(b) ? -1 : a === b ? 0 : 1)

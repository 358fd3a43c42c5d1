import type { Span } from '../../../schemas/user-data.ts'
import { rounded } from '../../measurements/quantities/units.ts'
import { type Caller, permitted } from '../../store/documents/caller.ts'
import { documentsOf } from '../../store/documents/database.ts'
import { decodeCursor } from '../../store/reading/cursor.ts'
import { type Order, type Page, type PageOf, paged } from '../../store/reading/listing.ts'
import type { Records } from '../../store/writing/transaction.ts'
import { knownType } from '../../types/known-types.ts'
import type { UserData } from '../../user-data/data-of-users.ts'
import { Measurement } from '../../user-data/typed-measurement.ts'
import { readColumns } from '../columns.ts'
import { spansOf } from './calendar.ts'

export interface AggregateQuery {
  dataType: string
  span: Span
  /** By its IANA name. */
  timeZone: string
  from?: string | undefined
  to?: string | undefined
  carePlanId?: string | undefined
}

/** The values of a span. */
interface Sum {
  dataType: string
  /** Its first day, local. */
  day: string
  from: string
  to: string
  unit: string | null
  count: number
  min: number
  max: number
  mean: number
  last: number
}

const LIST = 'aggregates'

/** Values of a user by day, week or month. */
export class Aggregates {
  readonly #records: Records
  readonly #data: UserData

  constructor(records: Records, data: UserData) {
    this.#records = records
    this.#data = data
  }

  /**
   * Spans without a value are left out.
   * @throws NotFound; MalformedRequest for a cursor of another list
   */
  async read(caller: Caller, mvUid: string, query: AggregateQuery, page: PageOf): Promise<Page<Sum>> {
    const { limit, cursor, count, order = 'desc' } = page
    const list = `${LIST}.${query.span}.${order}`
    const after = cursor === undefined ? undefined : String(decodeCursor(list, cursor).id)
    const sums = await this.#sums(caller, mvUid, query)
    const all = order === 'desc' ? sums.reverse() : sums
    const rest = after === undefined ? all : all.filter(({ day }) => isBeyond(day, after, order))
    return paged(list, rest, limit, ({ day }) => ({ value: null, id: day }), count ? all.length : undefined)
  }

  async #sums(caller: Caller, mvUid: string, query: AggregateQuery): Promise<Sum[]> {
    const { dataType, from, to } = query
    const ehrs = await this.#data.ehrsOf(caller, mvUid)
    const plans = await this.#plans(caller, ehrs, query.carePlanId)
    const timestamp = { ...(from && { $gte: new Date(from) }), ...(to && { $lt: new Date(to) }) }
    const filter = {
      carePlanId: plans.length === 1 ? plans[0] : { $in: plans },
      ...{ dataType, ...(Object.keys(timestamp).length > 0 && { timestamp }) },
    }
    const { times, values } = await readColumns(this.#records, Measurement.collection, [filter], ['amount'])
    await this.#report(caller, ehrs)
    const unit = (await knownType(this.#records, 'data', dataType))?.unit ?? null
    return summed(times, values[0] ?? new Float64Array(), query, unit)
  }

  /** What is registered in a plan may be seen by those who may see the plan. */
  async #plans(caller: Caller, ehrs: readonly string[], carePlanId?: string): Promise<string[]> {
    const only = carePlanId === undefined ? {} : { _id: carePlanId }
    const readable = { ehrId: { $in: [...ehrs] }, ...only, ...permitted('_rperm', caller) }
    const found = documentsOf(this.#records, 'CarePlan').find(readable, { projection: { _id: 1 } })
    return (await found.toArray()).map(({ _id }) => _id)
  }

  async #report({ requestId, userId, application }: Caller, ehrs: readonly string[]): Promise<void> {
    const about = { requestId, userId, application, action: 'query', asked: LIST } as const
    const what = { type: Measurement.collection, ids: [], outcome: 'done' as const }
    await this.#records.audit.record(...ehrs.map((ehrId) => ({ ...about, ...what, ehrId })))
  }
}

const isBeyond = (day: string, after: string, order: Order): boolean =>
  order === 'desc' ? day < after : day > after

/** The sums of values in the order of their times. */
function summed(
  times: Float64Array,
  values: Float64Array,
  { dataType, span, timeZone }: AggregateQuery,
  unit: string | null,
): Sum[] {
  const spanOf = spansOf(timeZone, span)
  const sums: (Sum & { total: number; end: number })[] = []
  for (const [i, time] of times.entries()) {
    const value = values[i] as number
    if (Number.isNaN(value)) continue
    let sum = sums.at(-1)
    if (!sum || time >= sum.end) {
      const { day, start, end } = spanOf(time)
      const [from, to] = [start, end].map((at) => new Date(at).toISOString()) as [string, string]
      const bounds = { min: value, max: value, mean: value, last: value }
      sum = { ...{ dataType, day, from, to, unit, count: 0, ...bounds }, total: 0, end }
      sums.push(sum)
    }
    sum.count += 1
    sum.total += value
    sum.min = Math.min(sum.min, value)
    sum.max = Math.max(sum.max, value)
    sum.last = value
  }
  return sums.map(({ total, end: _, ...sum }) => ({ ...sum, mean: rounded(total / sum.count, 4) }))
}

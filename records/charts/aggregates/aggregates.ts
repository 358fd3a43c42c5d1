import type { TimeSpan } from '../../../schemas/user-data/user-data.ts'
import { findSearchedEhrs, type QueryScope, queryAccesses } from '../../ehrs/rights/query-accesses.ts'
import { type Caller, permissionFilter } from '../../store/documents/caller.ts'
import { documentCollection } from '../../store/documents/database.ts'
import { decodeCursor } from '../../store/reading/cursor.ts'
import { createPage, type Page, type PageRequest, type SortOrder } from '../../store/reading/pages.ts'
import type { StoreContext } from '../../store/writing/transaction.ts'
import { resolveType } from '../../types/type-registry.ts'
import { Measurement } from '../../user-data/typed-measurement.ts'
import type { UserData } from '../../user-data/user-data.ts'
import { addToSum, meanOf } from '../sums.ts'
import { readTimeColumns } from '../time-columns.ts'
import { createSpanLookup } from './local-spans.ts'

export interface AggregateQuery {
  dataType: string
  span: TimeSpan
  /** IANA name. */
  timeZone: string
  from?: string | undefined
  to?: string | undefined
  carePlanId?: string | undefined
}

/** The aggregated values of one span. */
interface Aggregate {
  dataType: string
  /** First day of the span, local. */
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

const AGGREGATE_LIST = 'aggregates'

/** Values of a user by day, week or month. */
export class Aggregates {
  readonly #context: StoreContext
  readonly #data: UserData

  constructor(context: StoreContext, data: UserData) {
    this.#context = context
    this.#data = data
  }

  /**
   * Reads the aggregates; leaves out spans without values.
   * @throws NotFound; MalformedRequest for a cursor of another list
   */
  async read(
    caller: Caller,
    mvUid: string,
    query: AggregateQuery,
    page: PageRequest,
  ): Promise<Page<Aggregate>> {
    const { limit, cursor, count, order = 'desc' } = page
    const list = `${AGGREGATE_LIST}.${query.span}.${order}`
    const after = cursor === undefined ? undefined : String(decodeCursor(list, cursor).id)
    const sums = await this.#aggregate(caller, mvUid, query)
    const orderedSums = order === 'desc' ? sums.reverse() : sums
    const rest =
      after === undefined ? orderedSums : orderedSums.filter(({ day }) => isAfter(day, after, order))
    return createPage(
      list,
      rest,
      limit,
      ({ day }) => ({ value: null, id: day }),
      count ? orderedSums.length : undefined,
    )
  }

  async #aggregate(caller: Caller, mvUid: string, query: AggregateQuery): Promise<Aggregate[]> {
    const { dataType, from, to } = query
    const ehrs = await this.#data.findEhrs(caller, mvUid)
    const plans = await this.#findReadablePlans(caller, ehrs, query.carePlanId)
    const timestamp = { ...(from && { $gte: new Date(from) }), ...(to && { $lt: new Date(to) }) }
    const filter = {
      carePlanId: plans.length === 1 ? plans[0] : { $in: plans },
      dataType,
      ...(Object.keys(timestamp).length > 0 && { timestamp }),
    }
    const { times, values } = await readTimeColumns(
      this.#context,
      Measurement.collection,
      [filter],
      ['amount'],
    )
    await this.#report(caller, { ehrIds: ehrs, carePlanId: query.carePlanId })
    const unit = (await resolveType(this.#context, 'data', dataType))?.unit ?? null
    return aggregateValues(times, values[0] ?? new Float64Array(), query, unit)
  }

  /** Records of a plan are visible to those who may see the plan. */
  async #findReadablePlans(caller: Caller, ehrs: readonly string[], carePlanId?: string): Promise<string[]> {
    const only = carePlanId === undefined ? {} : { _id: carePlanId }
    const readable = { ehrId: { $in: [...ehrs] }, ...only, ...permissionFilter('_rperm', caller) }
    const plans = documentCollection(this.#context, 'CarePlan').find(readable, { projection: { _id: 1 } })
    return (await plans.toArray()).map(({ _id }) => _id)
  }

  async #report(caller: Caller, scope: QueryScope): Promise<void> {
    const { audit } = this.#context
    const access = { type: Measurement.collection, asked: AGGREGATE_LIST }
    const searchedEhrs = await findSearchedEhrs(this.#context, caller, scope)
    await audit.record(...(await queryAccesses(audit, caller, access, searchedEhrs)))
  }
}

const isAfter = (day: string, after: string, order: SortOrder): boolean =>
  order === 'desc' ? day < after : day > after

/** An aggregate while its values are added. */
interface SpanSum extends Aggregate {
  total: number
  /** In milliseconds since 1970, exclusive. */
  end: number
}

/** Aggregates values that are sorted by time. */
function aggregateValues(
  times: Float64Array,
  values: Float64Array,
  { dataType, span, timeZone }: AggregateQuery,
  unit: string | null,
): Aggregate[] {
  const spanOf = createSpanLookup(timeZone, span)
  // By day, since a clock that is set back past midnight returns to the day before.
  const sums = new Map<string, SpanSum>()
  let sum: SpanSum | undefined
  for (const [i, time] of times.entries()) {
    const value = values[i] as number
    if (Number.isNaN(value)) continue
    if (!sum || time >= sum.end) {
      const { day, start, end } = spanOf(time)
      const [from, to] = [start, end].map((at) => new Date(at).toISOString()) as [string, string]
      const bounds = { min: value, max: value, mean: value, last: value }
      sum = sums.get(day) ?? { dataType, day, from, to, unit, count: 0, ...bounds, total: 0, end }
      sums.set(day, sum)
    }
    sum.count += 1
    sum.total = addToSum(sum.total, value)
    sum.min = Math.min(sum.min, value)
    sum.max = Math.max(sum.max, value)
    sum.last = value
  }
  return [...sums.values()].map(({ total, end: _, ...sum }) => ({ ...sum, mean: meanOf(total, sum) }))
}

import type { Filter } from 'mongodb'
import type { Coding } from '../../schemas/coding.ts'
import { roundKeepingDigits } from '../../schemas/measurements/units.ts'
import { findNonemptyCollections } from '../ehr-records/nonempty-collections.ts'
import { queryAccesses } from '../ehrs/rights/query-accesses.ts'
import { findReadablePlans } from '../ehrs/rights/read-scope.ts'
import { findAlertBands } from '../measurements/alerts/alerts.ts'
import { PlanThresholds } from '../measurements/alerts/plan-thresholds.ts'
import { IN_EHR_COMPOSITION_FILTER } from '../measurements/compositions/composition-membership.ts'
import type { MeasurementKind } from '../measurements/measurement.ts'
import { loincCoding, type Series, unitLabel } from '../measurements/series.ts'
import { runWhileRecording } from '../store/audit/audit-log.ts'
import { type Caller, permissionFilter } from '../store/documents/caller.ts'
import { documentCollection } from '../store/documents/database.ts'
import type { ParseDocument } from '../store/documents/parse-format.ts'
import type { StoreContext } from '../store/writing/transaction.ts'
import { findGraphSources, type GraphSource } from '../user-data/graph-sources.ts'
import { type GraphBand, graphBandsOf } from './graph-bands.ts'
import { type Points, samplePoints } from './lttb.ts'
import { addToSum, clampNumber, meanOf } from './sums.ts'
import { readTimeColumns, type TimeColumns } from './time-columns.ts'
import type { TimelineEntry, Timelines } from './timeline.ts'

export interface GraphQuery {
  from?: string | undefined
  to?: string | undefined
  /** Names of kinds or of single series: `bloodpressure`, `bloodpressure.systolic`; undefined: all. */
  measures?: readonly string[] | undefined
  /** Maximum number of points of a series; 0: {@link MAX_POINTS}. */
  points: number
}

/** Maximum number of points of a series; a chart cannot show more. */
export const MAX_POINTS = 5000

/** Maximum number of alerts and events in a graph; the newest ones. */
const MAX_ANNOTATIONS = 200

interface SeriesStats {
  min: number
  max: number
  mean: number
  last: { x: number; y: number }
}

interface GraphSeries {
  id: string
  measure: string
  label: string
  code: Coding | null
  unit: string
  unitLabel: string
  axis: string
  kind: 'line'
  /** Number of points in the period, and in the response. */
  total: number
  returned: number
  sampling: { algorithm: 'lttb' | 'none'; points: number }
  /** Computed from all points of the period, not only the returned ones. */
  stats: SeriesStats | null
  points: Array<{ x: number; y: number }>
  bands: GraphBand[]
}

interface GraphAxis {
  id: string
  label: string
  unit: string
  unitLabel: string
  min: number
  max: number
}

interface Graph {
  axes: GraphAxis[]
  series: GraphSeries[]
  annotations: TimelineEntry[]
}

/** Measured values of an EHR as lines, ready for a chart. */
export class Graphs {
  readonly #context: StoreContext
  readonly #kinds: readonly MeasurementKind[]
  readonly #timelines: Timelines

  constructor(context: StoreContext, kinds: readonly MeasurementKind[], timelines: Timelines) {
    this.#context = context
    this.#kinds = kinds
    this.#timelines = timelines
  }

  /** Reads the graph that the caller may see. @throws NotFound when the caller may see nothing of the EHR */
  async read(caller: Caller, ehrId: string, query: GraphQuery): Promise<Graph> {
    const { from, to, measures } = query
    const kinds = selectSeries(this.#kinds, measures)
    const collections = kinds.map(({ kind }) => kind.collection)
    const [plans, holding] = await Promise.all([
      findReadablePlans(this.#context, caller, ehrId),
      findNonemptyCollections(this.#context, { ehrId }, collections),
    ])
    const types = await findGraphSources(this.#context, plans, measures)
    const readings = [...kinds, ...selectSeries(types, measures)]
    const ofPlans = { carePlanId: plans.length === 1 ? plans[0] : { $in: plans } }
    const ofEhr = { ehrId, ...IN_EHR_COMPOSITION_FILTER, ...permissionFilter('_rperm', caller) }
    const [thresholds, annotations, ...columns] = await Promise.all([
      this.#thresholdsOf(plans),
      this.#annotations(caller, ehrId, { from, to }),
      ...readings.map(({ kind, series }) => {
        const filters = holding.has(kind.collection) ? [ofPlans, ofEhr] : []
        return this.#columns('where' in kind ? [ofPlans] : filters, kind, series, query)
      }),
    ])
    const collectionNames = new Set(readings.map(({ kind }) => kind.collection))
    const series = await runWhileRecording(this.#report(caller, ehrId, [...collectionNames]), () =>
      readings.flatMap(({ kind, series }, i) =>
        series.map((one, at) => {
          const { times, values } = columns[i] as TimeColumns
          const ofPlan = thresholds.flatMap(
            (planThresholds) => findAlertBands(kind.thresholdTarget, kind.path, planThresholds) ?? [],
          )[0]
          return buildGraphSeries(
            kind,
            one,
            dropMissing(times, values[at] as Float64Array),
            graphBandsOf(kind, one, ofPlan),
            query,
          )
        }),
      ),
    )
    const shownSeries = measures === undefined ? series.filter(({ total }) => total > 0) : series
    return { axes: buildAxes([...this.#kinds, ...types], shownSeries), series: shownSeries, annotations }
  }

  /** The thresholds of these plans, most recently changed first. */
  async #thresholdsOf(plans: readonly string[]): Promise<ParseDocument[]> {
    const ofPlans = { carePlanId: { $in: plans } } as Filter<ParseDocument>
    const planThresholds = await documentCollection(this.#context, PlanThresholds.collection)
      .find(ofPlans)
      .toArray()
    return planThresholds.sort((a, b) => b._updated_at.getTime() - a._updated_at.getTime())
  }

  /** Retracted records annotate nothing. The timeline also checks that the caller may see the EHR at all. */
  async #annotations(
    caller: Caller,
    ehrId: string,
    window: Pick<GraphQuery, 'from' | 'to'>,
  ): Promise<TimelineEntry[]> {
    const kinds = ['alert', 'event', 'diagnosis']
    const { lines } = await this.#timelines.read(caller, ehrId, { ...window, kinds, limit: MAX_ANNOTATIONS })
    return lines.filter(({ isRetracted }) => !isRetracted).reverse()
  }

  #columns(
    filters: readonly object[],
    { collection, where }: GraphSource,
    series: ReadonlyArray<readonly [string, Series]>,
    { from, to }: GraphQuery,
  ): Promise<TimeColumns> {
    const timestamp = { ...(from && { $gte: new Date(from) }), ...(to && { $lt: new Date(to) }) }
    const within = { ...where, ...(Object.keys(timestamp).length > 0 && { timestamp }) }
    const fields = series.map(([, { field }]) => field)
    return readTimeColumns(
      this.#context,
      collection,
      filters.map((filter) => ({ ...filter, ...within })),
      fields,
    )
  }

  /** The audit entry names kinds instead of records, because there may be a hundred thousand records. */
  async #report(caller: Caller, ehrId: string, collections: readonly string[]): Promise<void> {
    const { audit } = this.#context
    const searchedEhrs = { searched: [ehrId], denied: [] }
    const accesses = collections.map((type) =>
      queryAccesses(audit, caller, { type, asked: 'medgraph' }, searchedEhrs),
    )
    await audit.record(...(await Promise.all(accesses)).flat())
  }
}

/** The kinds with the requested series. */
function selectSeries<K extends GraphSource>(kinds: readonly K[], measures: readonly string[] | undefined) {
  return kinds.flatMap((kind) => {
    const series = Object.entries(kind.series).filter(
      ([name]) =>
        measures === undefined || measures.includes(kind.path) || measures.includes(`${kind.path}.${name}`),
    )
    return series.length > 0 ? [{ kind, series }] : []
  })
}

/** Removes records without a value in the series. */
function dropMissing(times: Float64Array, values: Float64Array): Points {
  let isComplete = true
  for (let i = 0; i < values.length && isComplete; i++) isComplete = !Number.isNaN(values[i])
  if (isComplete) return { x: times, y: values }
  return {
    x: times.filter((_, i) => !Number.isNaN(values[i])),
    y: values.filter((value) => !Number.isNaN(value)),
  }
}

function buildGraphSeries(
  { path }: GraphSource,
  [name, { label, unit, axis, code }]: readonly [string, Series],
  points: Points,
  bands: GraphBand[],
  query: GraphQuery,
): GraphSeries {
  const { x, y } = points
  const stats = calculateStats(points)
  const total = x.length
  const most = query.points === 0 ? MAX_POINTS : query.points
  const indexes = stats ? samplePoints(points, most, stats.at) : []
  return {
    id: `${path}.${name}`,
    measure: path,
    label,
    code: code === undefined ? null : loincCoding(code),
    unit,
    unitLabel: unitLabel(unit),
    axis,
    kind: 'line',
    total,
    returned: indexes.length,
    sampling: { algorithm: total > indexes.length ? 'lttb' : 'none', points: indexes.length },
    stats: stats?.stats ?? null,
    points: indexes.map((i) => ({ x: x[i] as number, y: y[i] as number })),
    bands,
  }
}

/** The statistics, and the positions of the lowest and highest value. */
function calculateStats({
  x,
  y: values,
}: Points): { stats: SeriesStats; at: [min: number, max: number] } | undefined {
  if (values.length === 0) return undefined
  let min = 0
  let max = 0
  let sum = 0
  for (let i = 0; i < values.length; i++) {
    const value = values[i] as number
    if (value < (values[min] as number)) min = i
    if (value > (values[max] as number)) max = i
    sum = addToSum(sum, value)
  }
  const [least, most] = [values[min], values[max]] as [number, number]
  const last = { x: x.at(-1) as number, y: values.at(-1) as number }
  return {
    stats: {
      min: least,
      max: most,
      mean: meanOf(sum, { count: values.length, min: least, max: most }),
      last,
    },
    at: [min, max],
  }
}

/** The axes of the returned series; each covers all series on it. */
function buildAxes(kinds: readonly GraphSource[], series: readonly GraphSeries[]): GraphAxis[] {
  return [...new Set(series.map(({ axis }) => axis))].map((id) => {
    const axisSeries = series.filter(({ axis }) => axis === id)
    const { unit, unitLabel, measure } = axisSeries[0] as GraphSeries
    const kind = kinds.find(({ path }) => path === measure)
    const stats = axisSeries.flatMap((one) => one.stats ?? [])
    const ranges = Object.values(kind?.series ?? {}).map(({ range }) => range)
    const [min, max] =
      stats.length > 0
        ? [Math.min(...stats.map((one) => one.min)), Math.max(...stats.map((one) => one.max))]
        : [Math.min(...ranges.map(([low]) => low)), Math.max(...ranges.map(([, high]) => high))]
    const label = (kind?.words.en ?? id).replace(/^./, (first) => first.toUpperCase())
    return { id, label, unit, unitLabel, ...roundRange(min, max) }
  })
}

/** Extends a range to round numbers. */
function roundRange(min: number, max: number): { min: number; max: number } {
  const span = Math.max(clampNumber(max - min), Math.abs(max) / 10) || 1
  const step = 10 ** Math.floor(Math.log10(span / 5))
  const low = Math.floor((min - step / 2) / step)
  const high = Math.ceil((max + step / 2) / step)
  return {
    min: roundKeepingDigits(clampNumber(low * step), 6),
    max: roundKeepingDigits(clampNumber(high * step), 6),
  }
}

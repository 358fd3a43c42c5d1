import type { Filter } from 'mongodb'
import type { Coding } from '../../schemas/coding.ts'
import { readablePlans } from '../ehrs/rights/readable.ts'
import { thresholdsIn } from '../measurements/alerts/alerts.ts'
import { PlanThresholds } from '../measurements/alerts/plan-thresholds.ts'
import { HELD_IN_EHR } from '../measurements/compositions/held.ts'
import type { MeasurementKind } from '../measurements/measurement.ts'
import { rounded } from '../measurements/quantities/units.ts'
import { loinc, type Series, unitLabel } from '../measurements/series.ts'
import { whileRecorded } from '../store/audit/trail.ts'
import { type Caller, permitted } from '../store/documents/caller.ts'
import { documentsOf } from '../store/documents/database.ts'
import type { ParseDocument } from '../store/documents/parse-format.ts'
import type { Records } from '../store/writing/transaction.ts'
import { measuredTypes, type Plotted } from '../user-data/measured-types.ts'
import { bandsOf, type GraphBand } from './bands.ts'
import { type Columns, readColumns } from './columns.ts'
import { collectionsHolding } from './holding.ts'
import { type Points, sampled } from './lttb.ts'
import type { Line, Timelines } from './timeline.ts'

/** What is asked of a graph. */
export interface GraphQuery {
  from?: string | undefined
  to?: string | undefined
  /** By the kinds' names, or of single series: `bloodpressure`, `bloodpressure.systolic`; undefined: all there are. */
  measures?: readonly string[] | undefined
  /** How many points of a series at most; 0: all, up to {@link MOST_POINTS}. */
  points: number
}

/** Where a graph is no longer drawn point by point. */
export const MOST_POINTS = 5000

/** How many of the newest alerts and events come with a graph. */
const MOST_ANNOTATIONS = 200

interface Stats {
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
  /** How many points there are, and how many are returned. */
  total: number
  returned: number
  sampling: { algorithm: 'lttb' | 'none'; points: number }
  /** Of all points. */
  stats: Stats | null
  points: Array<{ x: number; y: number }>
  bands: GraphBand[]
}

interface Axis {
  id: string
  label: string
  unit: string
  unitLabel: string
  min: number
  max: number
}

interface Graph {
  axes: Axis[]
  series: GraphSeries[]
  annotations: Line[]
}

/** Measured values of an EHR as lines that a chart draws as they are. */
export class Graphs {
  readonly #records: Records
  readonly #kinds: readonly MeasurementKind[]
  readonly #timelines: Timelines

  constructor(records: Records, kinds: readonly MeasurementKind[], timelines: Timelines) {
    this.#records = records
    this.#kinds = kinds
    this.#timelines = timelines
  }

  /** What the caller may see. @throws NotFound when nothing of the EHR is */
  async read(caller: Caller, ehrId: string, query: GraphQuery): Promise<Graph> {
    const { from, to, measures } = query
    const kinds = readingsOf(this.#kinds, measures)
    const collections = kinds.map(({ kind }) => kind.collection)
    const [plans, holding] = await Promise.all([
      readablePlans(this.#records, caller, ehrId),
      collectionsHolding(this.#records, ehrId, collections),
    ])
    const types = await measuredTypes(this.#records, plans, measures)
    const readings = [...kinds, ...readingsOf(types, measures)]
    const ofPlans = { carePlanId: plans.length === 1 ? plans[0] : { $in: plans } }
    const ofEhr = { ehrId, ...HELD_IN_EHR, ...permitted('_rperm', caller) }
    const [thresholds, annotations, ...columns] = await Promise.all([
      this.#thresholdsOf(plans),
      this.#annotations(caller, ehrId, { from, to }),
      ...readings.map(({ kind, series }) => {
        const places = holding.has(kind.collection) ? [ofPlans, ofEhr] : []
        return this.#columns('where' in kind ? [ofPlans] : places, kind, series, query)
      }),
    ])
    const looked = new Set(readings.map(({ kind }) => kind.collection))
    const series = await whileRecorded(this.#report(caller, ehrId, [...looked]), () =>
      readings.flatMap(({ kind, series }, i) =>
        series.map((one, at) => {
          const { times, values } = columns[i] as Columns
          const ofPlan = thresholds.flatMap(
            (found) => thresholdsIn(kind.thresholded, kind.path, found) ?? [],
          )[0]
          return graphSeries(
            kind,
            one,
            present(times, values[at] as Float64Array),
            bandsOf(kind, one, ofPlan),
            query,
          )
        }),
      ),
    )
    const told = measures === undefined ? series.filter(({ total }) => total > 0) : series
    return { axes: axesOf([...this.#kinds, ...types], told), series: told, annotations }
  }

  /** Those of the plan that was thought about last come first. */
  async #thresholdsOf(plans: readonly string[]): Promise<ParseDocument[]> {
    const ofPlans = { carePlanId: { $in: plans } } as Filter<ParseDocument>
    const found = await documentsOf(this.#records, PlanThresholds.collection).find(ofPlans).toArray()
    return found.sort((a, b) => b._updated_at.getTime() - a._updated_at.getTime())
  }

  /** Whether the caller sees anything of the EHR at all, the timeline finds out. */
  async #annotations(
    caller: Caller,
    ehrId: string,
    window: Pick<GraphQuery, 'from' | 'to'>,
  ): Promise<Line[]> {
    const kinds = ['alert', 'event', 'diagnosis']
    const { lines } = await this.#timelines.read(caller, ehrId, { ...window, kinds, limit: MOST_ANNOTATIONS })
    return lines.reverse()
  }

  #columns(
    places: readonly object[],
    { collection, where }: Plotted,
    series: ReadonlyArray<readonly [string, Series]>,
    { from, to }: GraphQuery,
  ): Promise<Columns> {
    const timestamp = { ...(from && { $gte: new Date(from) }), ...(to && { $lt: new Date(to) }) }
    const within = { ...where, ...(Object.keys(timestamp).length > 0 && { timestamp }) }
    const fields = series.map(([, { field }]) => field)
    return readColumns(
      this.#records,
      collection,
      places.map((place) => ({ ...place, ...within })),
      fields,
    )
  }

  /** Which records were looked at is told by their kind: there may be a hundred thousand. */
  async #report(caller: Caller, ehrId: string, collections: readonly string[]): Promise<void> {
    const { requestId, userId, application } = caller
    const about = { requestId, userId, application, action: 'query', asked: 'medgraph', ehrId } as const
    const accesses = collections.map((type) => ({ ...about, type, ids: [], outcome: 'done' as const }))
    await this.#records.audit.record(...accesses)
  }
}

/** Those of which lines are asked for, with their series. */
function readingsOf<K extends Plotted>(kinds: readonly K[], measures: readonly string[] | undefined) {
  return kinds.flatMap((kind) => {
    const series = Object.entries(kind.series).filter(
      ([name]) =>
        measures === undefined || measures.includes(kind.path) || measures.includes(`${kind.path}.${name}`),
    )
    return series.length > 0 ? [{ kind, series }] : []
  })
}

/** Without the records that have no value in the series. */
function present(times: Float64Array, values: Float64Array): Points {
  let all = true
  for (let i = 0; i < values.length && all; i++) all = !Number.isNaN(values[i])
  if (all) return { x: times, y: values }
  return {
    x: times.filter((_, i) => !Number.isNaN(values[i])),
    y: values.filter((value) => !Number.isNaN(value)),
  }
}

function graphSeries(
  { path }: Plotted,
  [name, { label, unit, axis, code }]: readonly [string, Series],
  points: Points,
  bands: GraphBand[],
  query: GraphQuery,
): GraphSeries {
  const { x, y } = points
  const found = statsOf(points)
  const total = x.length
  const most = query.points === 0 ? MOST_POINTS : query.points
  const chosen = found ? sampled(points, most, found.at) : []
  return {
    id: `${path}.${name}`,
    measure: path,
    label,
    code: code === undefined ? null : loinc(code),
    unit,
    unitLabel: unitLabel(unit),
    axis,
    kind: 'line',
    total,
    returned: chosen.length,
    sampling: { algorithm: total > chosen.length ? 'lttb' : 'none', points: chosen.length },
    stats: found?.stats ?? null,
    points: chosen.map((i) => ({ x: x[i] as number, y: y[i] as number })),
    bands,
  }
}

/** Also where the lowest and the highest value are. */
function statsOf({ x, y: values }: Points): { stats: Stats; at: [min: number, max: number] } | undefined {
  if (values.length === 0) return undefined
  let [min, max, sum] = [0, 0, 0]
  for (let i = 0; i < values.length; i++) {
    const value = values[i] as number
    if (value < (values[min] as number)) min = i
    if (value > (values[max] as number)) max = i
    sum += value
  }
  const [least, most] = [values[min], values[max]] as [number, number]
  const last = { x: x.at(-1) as number, y: values.at(-1) as number }
  return {
    stats: { min: least, max: most, mean: rounded(sum / values.length, 4), last },
    at: [min, max],
  }
}

/** The axes of the returned series, each wide enough for all of them. */
function axesOf(kinds: readonly Plotted[], told: readonly GraphSeries[]): Axis[] {
  return [...new Set(told.map(({ axis }) => axis))].map((id) => {
    const those = told.filter(({ axis }) => axis === id)
    const { unit, unitLabel, measure } = those[0] as GraphSeries
    const kind = kinds.find(({ path }) => path === measure)
    const stats = those.flatMap((one) => one.stats ?? [])
    const ranges = Object.values(kind?.series ?? {}).map(({ range }) => range)
    const [min, max] =
      stats.length > 0
        ? [Math.min(...stats.map((one) => one.min)), Math.max(...stats.map((one) => one.max))]
        : [Math.min(...ranges.map(([low]) => low)), Math.max(...ranges.map(([, high]) => high))]
    const label = (kind?.words.en ?? id).replace(/^./, (first) => first.toUpperCase())
    return { id, label, unit, unitLabel, ...roomFor(min, max) }
  })
}

/** Round numbers a little beyond both ends. */
function roomFor(min: number, max: number): { min: number; max: number } {
  const step = 10 ** Math.floor(Math.log10(Math.max(max - min, Math.abs(max) / 10, 1e-6) / 5))
  const [low, high] = [Math.floor((min - step / 2) / step), Math.ceil((max + step / 2) / step)]
  return { min: rounded(low * step, 6), max: rounded(high * step, 6) }
}

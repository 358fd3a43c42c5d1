import type { GraphSeries } from './health-record.ts'

const SPARKLINE_PERIOD_MS = 30 * 86_400_000

/** A band with its limits: from `from` to below `to`. */
export type BandRange = GraphSeries['bands'][number]

export type Band = Pick<BandRange, 'code' | 'label' | 'severity' | 'level'>

/** The newest value of a kind: blood pressure has two numbers, most others one. */
export interface NewestValue {
  measure: string
  at: number
  unit: string
  unitLabel: string
  values: { name: string; label: string; value: number }[]
  /** The worst of the numbers' bands. */
  band: Band | undefined
  /** The last 30 days of the first number. */
  line: { x: number; y: number }[]
}

/** The band that contains a value. */
export const bandOf = ({ bands }: { bands: readonly BandRange[] }, value: number): BandRange | undefined =>
  bands.find(({ from, to }) => (from === null || value >= from) && (to === null || value < to))

const nameOf = ({ id, measure }: GraphSeries): string => id.slice(measure.length + 1)

/** The newest value of each kind that was ever measured, the latest first. */
export function newestValues(series: readonly GraphSeries[], now = Date.now()): NewestValue[] {
  const kinds = Map.groupBy(
    series.filter(({ stats }) => stats !== null),
    ({ measure }) => measure,
  )
  return [...kinds].map(([measure, lines]) => toNewest(measure, lines, now)).sort((a, b) => b.at - a.at)
}

function toNewest(measure: string, lines: GraphSeries[], now: number): NewestValue {
  const at = Math.max(...lines.map(({ stats }) => stats?.last.x ?? 0))
  const current = lines.filter(({ stats }) => stats?.last.x === at)
  const bands = current.flatMap((line) => bandOf(line, line.stats?.last.y ?? 0) ?? [])
  const first = current[0]
  return {
    measure,
    at,
    unit: first?.unit ?? '',
    unitLabel: first?.unitLabel ?? '',
    values: current.map((line) => ({
      name: nameOf(line),
      label: line.label,
      value: line.stats?.last.y ?? 0,
    })),
    band: bands.sort((a, b) => b.severity - a.severity)[0],
    line: first?.points.filter(({ x }) => x > now - SPARKLINE_PERIOD_MS) ?? [],
  }
}

import {
  type AlertBands,
  alertBands,
  stretches,
  type Thresholds,
} from '../measurements/calculations/thresholds.ts'
import { convert, rounded } from '../measurements/quantities/units.ts'
import type { Series } from '../measurements/series.ts'
import type { Plotted } from '../user-data/measured-types.ts'

/** A stretch of the axis, in the unit of its series. */
export interface GraphBand {
  code: string
  label: string
  /** null: all that is lower. */
  from: number | null
  /** null: all that is higher. */
  to: number | null
  severity: number
}

/** The thresholds by which a kind is judged where its plan has none; undefined: by none. */
function usual({ thresholded, series }: Plotted): AlertBands | undefined {
  const preset = Object.keys(thresholded.presets)[0]
  const limits = Object.entries(series).flatMap(([name, one]) =>
    one.usual ? [[`${name}Low`, one.usual[0]] as const, [`${name}High`, one.usual[1]] as const] : [],
  )
  const thresholds: Thresholds | undefined =
    preset ??
    (limits.length > 0
      ? ({ unit: thresholded.unit, ...Object.fromEntries(limits) } as Thresholds)
      : undefined)
  return thresholds === undefined ? undefined : alertBands(thresholded, thresholds)
}

/** The bands of one series, from the lowest up: those of the plan's thresholds, else the usual ones. */
export function bandsOf(
  kind: Plotted,
  [name, { unit, range }]: readonly [string, Series],
  ofPlan: AlertBands | undefined,
): GraphBand[] {
  const set = ofPlan ?? usual(kind)
  if (!set) return []
  const [min, max] = range.map((end) => convert(end, unit, set.unit)) as [number, number]
  const inUnit = (value: number) =>
    value === min || value === max ? null : rounded(convert(value, set.unit, unit), 4)
  return stretches(set, name, [min, max]).map(({ band: { code, label, severity }, from, to }) => ({
    ...{ code, label, from: inUnit(from), to: inUnit(to), severity },
  }))
}

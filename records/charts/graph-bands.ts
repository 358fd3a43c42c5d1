import type { BandLevel } from '../../schemas/enums.ts'
import { convertUnit, roundKeepingDigits } from '../../schemas/measurements/units.ts'
import {
  type AlertBands,
  bandIntervals,
  bandLevelOf,
  type Thresholds,
  toAlertBands,
} from '../measurements/calculations/thresholds.ts'
import type { Series } from '../measurements/series.ts'
import type { GraphSource } from '../user-data/graph-sources.ts'

/** A band on the axis, in the unit of its series. */
export interface GraphBand {
  code: string
  label: string
  /** null: no lower bound. */
  from: number | null
  /** null: no upper bound. */
  to: number | null
  severity: number
  level: BandLevel
}

/**
 * The bands of a kind in plans without thresholds: those of its usual preset, or else the unusually low and high values.
 * There is no band between these two: a value that needs no confirmation may still be abnormal.
 */
function findUsualBands({ thresholdTarget, series }: GraphSource): AlertBands | undefined {
  const preset = Object.keys(thresholdTarget.presets)[0]
  if (preset !== undefined) return toAlertBands(thresholdTarget, preset)
  const limits = Object.entries(series).flatMap(([name, one]) =>
    one.usual ? [[`${name}Low`, one.usual[0]] as const, [`${name}High`, one.usual[1]] as const] : [],
  )
  if (limits.length === 0) return undefined
  const thresholds: Thresholds = { unit: thresholdTarget.unit, ...Object.fromEntries(limits) }
  const set = toAlertBands(thresholdTarget, thresholds)
  return { ...set, bands: set.bands.filter((band) => bandLevelOf(set, band) !== 'NORMAL') }
}

/** The bands of one series in ascending order: the plan's thresholds, or else the usual ones. */
export function graphBandsOf(
  kind: GraphSource,
  [name, { unit, range }]: readonly [string, Series],
  ofPlan: AlertBands | undefined,
): GraphBand[] {
  const set = ofPlan ?? findUsualBands(kind)
  if (!set) return []
  const [min, max] = range.map((end) => convertUnit(end, unit, set.unit)) as [number, number]
  const inUnit = (value: number) =>
    value === min || value === max ? null : roundKeepingDigits(convertUnit(value, set.unit, unit), 4)
  return bandIntervals(set, name, [min, max]).map(({ band, from, to }) => ({
    code: band.code,
    label: band.label,
    from: inUnit(from),
    to: inUnit(to),
    severity: band.severity,
    level: bandLevelOf(set, band),
  }))
}

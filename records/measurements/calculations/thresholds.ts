import type { BandLevel } from '../../../schemas/enums.ts'
import { Fraction } from '../../../schemas/fraction.ts'
import type { Band, Bounds, PersonalLimits, ThresholdSet } from '../../../schemas/measurements/thresholds.ts'
import { convertExactly } from '../../../schemas/measurements/units.ts'

/** A published set of conditions. */
export interface ThresholdPreset<Name extends string = string> {
  unit: string
  bands: readonly Band<Name>[]
  /** Values of this severity and above are outside the normal range. */
  alertFrom: number
  /** Bands up to this severity are normal, 0 by default; those between it and `alertFrom` are borderline. */
  normalTo?: number
}

/** The values that thresholds can limit: by name, in one unit, with the published presets. */
export interface ThresholdTarget<Name extends string = string> {
  names: readonly Name[]
  /** The unit of the values, as UCUM code. */
  unit: string
  /** The possible range of each value in that unit; a limit outside the range suggests a wrong unit. */
  ranges?: Readonly<Partial<Record<Name, readonly [min: number, max: number]>>>
  /** The first preset is the usual one. */
  presets: Readonly<Record<string, ThresholdPreset<Name>>>
}

/** Thresholds in any form: the name of a preset, personal limits, or bands. */
export type Thresholds<Name extends string = string> = string | PersonalLimits<Name> | ThresholdSet<Name>

/** Thresholds as bands, with the severity from which they raise an alert. */
export type AlertBands<Name extends string = string> = ThresholdSet<Name> &
  Pick<ThresholdPreset, 'alertFrom' | 'normalTo'>

/** In a caller's own bands every severity above 0 raises an alert. */
const ABOVE_ZERO = Number.MIN_VALUE

/** Converts valid thresholds of any form to bands. */
export function toAlertBands<Name extends string>(
  { names, presets }: ThresholdTarget<Name>,
  thresholds: Thresholds<Name>,
): AlertBands<Name> {
  if (typeof thresholds === 'string')
    return { name: thresholds, ...(presets[thresholds] as ThresholdPreset<Name>) }
  const set = 'bands' in thresholds ? (thresholds as ThresholdSet<Name>) : bandsOfLimits(names, thresholds)
  return { ...set, alertFrom: ABOVE_ZERO }
}

/** The band of all values that match no other band. */
export const defaultBand = <Name extends string>(
  names: readonly Name[],
  code: string,
  label: string,
): Band<Name> =>
  ({
    severity: 0,
    code,
    label,
    combine: 'all',
    ...Object.fromEntries(names.map((name) => [name, { gt: Number.NEGATIVE_INFINITY }])),
  }) as Band<Name>

/** Severities only rank the bands of one set, so the set says which of them are normal. */
export function bandLevelOf({ alertFrom, normalTo = 0 }: AlertBands, { severity }: Band): BandLevel {
  if (severity >= alertFrom) return 'ALERT'
  return severity <= normalTo ? 'NORMAL' : 'BORDERLINE'
}

/** Converts personal limits to bands; a value equal to a limit is still normal. */
function bandsOfLimits<Name extends string>(
  names: readonly Name[],
  limits: PersonalLimits<Name>,
): ThresholdSet<Name> {
  const beyond = (end: 'Low' | 'High', bound: 'lt' | 'gt') =>
    Object.fromEntries(
      names.flatMap((name) => {
        const limit = limits[`${name}${end}` as keyof PersonalLimits<Name>]
        return limit === undefined ? [] : [[name, { [bound]: limit }]]
      }),
    )
  const band = (severity: number, code: string, label: string, bounds: object) =>
    Object.keys(bounds).length > 0 ? [{ severity, code, label, combine: 'any', ...bounds } as Band<Name>] : []
  return {
    name: 'limits',
    unit: limits.unit,
    bands: [
      defaultBand(names, 'normal', 'Normal'),
      ...band(1, 'low', 'Low', beyond('Low', 'lt')),
      ...band(2, 'high', 'High', beyond('High', 'gt')),
    ],
  }
}

const isWithinBounds = (value: Fraction, { gt, gte, lt, lte }: Bounds): boolean =>
  (gt === undefined || value.compareTo(gt) > 0) &&
  (gte === undefined || value.compareTo(gte) >= 0) &&
  (lt === undefined || value.compareTo(lt) < 0) &&
  (lte === undefined || value.compareTo(lte) <= 0)

/** Exact values by name: a rounded value on a bound may belong to the next band. */
export type ExactValues<Name extends string = string> = { readonly [name in Name]?: Fraction | undefined }

/** The most severe band that the values match; an absent value matches no band. */
export function findBand<Name extends string>(
  { bands }: Pick<ThresholdSet<Name>, 'bands'>,
  names: readonly Name[],
  values: ExactValues<Name>,
): Band<Name> | undefined {
  const matches = (band: Band<Name>): boolean => {
    const results = names.flatMap((name) => {
      const bounds = band[name] as Bounds | undefined
      const value = values[name]
      return bounds && value !== undefined ? [isWithinBounds(value, bounds)] : []
    })
    return band.combine === 'any' ? results.includes(true) : results.length > 0 && !results.includes(false)
  }
  return [...bands].sort((a, b) => b.severity - a.severity).find(matches)
}

/** The band of values in their own unit; compares them in the unit of the thresholds. */
export function findBandOfValues<Name extends string>(
  { names, unit }: ThresholdTarget<Name>,
  set: ThresholdSet<Name>,
  values: ExactValues<Name>,
): Band<Name> | undefined {
  const convertedValues = Object.entries<Fraction | undefined>(values).map(([name, value]) => [
    name,
    value && convertExactly(value, unit, set.unit),
  ])
  return findBand(set, names, Object.fromEntries(convertedValues))
}

/** Whether bands are those of the usual preset, by which the service classifies the records themselves. */
export const isUsualPreset = ({ presets }: ThresholdTarget, { bands }: ThresholdSet): boolean =>
  Object.values(presets)[0]?.bands === bands

/** The interval of a band for a single value, in the unit of the set. */
export interface BandInterval<Name extends string = string> {
  band: Band<Name>
  from: number
  to: number
}

/** The bands of a single value between two ends, in ascending order. */
export function bandIntervals<Name extends string>(
  set: ThresholdSet<Name>,
  name: Name,
  [min, max]: readonly [number, number],
): BandInterval<Name>[] {
  const cuts = set.bands.flatMap(
    (band) => Object.values((band[name] as Bounds | undefined) ?? {}) as number[],
  )
  const inside = cuts.filter((cut) => cut > min && cut < max)
  const ends = [...new Set([min, ...inside, max])].sort((a, b) => a - b)
  const intervals: BandInterval<Name>[] = []
  for (const [i, from] of ends.slice(0, -1).entries()) {
    const to = ends[i + 1] as number
    const band = findBand(set, [name], {
      [name]: Fraction.of(from).plus(to).dividedBy(2),
    } as ExactValues<Name>)
    const last = intervals.at(-1)
    if (last && last.band === band) last.to = to
    else if (band) intervals.push({ band, from, to })
  }
  return intervals
}

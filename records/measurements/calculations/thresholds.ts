import type { Band, Bounds, Limits, ThresholdSet } from '../../../schemas/thresholds.ts'
import { convert } from '../quantities/units.ts'

/** Published conditions. */
export interface Preset<Name extends string = string> {
  unit: string
  bands: readonly Band<Name>[]
  /** From this severity up a value is outside of what it should be. */
  alertFrom: number
}

/** What thresholds are about: values by name, in a unit, and what is published about them. */
export interface Thresholded<Name extends string = string> {
  names: readonly Name[]
  /** Their own unit, as UCUM code. */
  unit: string
  /** Between which the values can be, in their own unit: a limit that none goes beyond has the wrong unit. */
  ranges?: Readonly<Partial<Record<Name, readonly [min: number, max: number]>>>
  /** The first one is the usual one. */
  presets: Readonly<Record<string, Preset<Name>>>
}

/** Thresholds in any of their forms: the name of a preset, limits of a person, or bands. */
export type Thresholds<Name extends string = string> = string | Limits<Name> | ThresholdSet<Name>

/** Thresholds as bands, with what counts as outside of them. */
export type AlertBands<Name extends string = string> = ThresholdSet<Name> & { alertFrom: number }

/** Of a caller's own bands all above 0 are outside. */
const ABOVE_ZERO = Number.MIN_VALUE

/** Thresholds of any form that fulfil their rules. */
export function alertBands<Name extends string>(
  { names, presets }: Thresholded<Name>,
  thresholds: Thresholds<Name>,
): AlertBands<Name> {
  if (typeof thresholds === 'string') return { name: thresholds, ...(presets[thresholds] as Preset<Name>) }
  const set = 'bands' in thresholds ? (thresholds as ThresholdSet<Name>) : limitBands(names, thresholds)
  return { ...set, alertFrom: ABOVE_ZERO }
}

/** The band of everything that reaches no other one. */
export const otherwise = <Name extends string>(
  names: readonly Name[],
  code: string,
  label: string,
): Band<Name> =>
  ({
    ...{ severity: 0, code, label, combine: 'all' },
    ...Object.fromEntries(names.map((name) => [name, { gt: Number.NEGATIVE_INFINITY }])),
  }) as Band<Name>

/** A person's own limits as bands; a value on a limit is still normal. */
function limitBands<Name extends string>(names: readonly Name[], limits: Limits<Name>): ThresholdSet<Name> {
  const beyond = (end: 'Low' | 'High', bound: 'lt' | 'gt') =>
    Object.fromEntries(
      names.flatMap((name) => {
        const limit = limits[`${name}${end}` as keyof Limits<Name>]
        return limit === undefined ? [] : [[name, { [bound]: limit }]]
      }),
    )
  const band = (severity: number, code: string, label: string, bounds: object) =>
    ({ severity, code, label, combine: 'any', ...bounds }) as Band<Name>
  return {
    name: 'limits',
    unit: limits.unit,
    bands: [
      otherwise(names, 'normal', 'Normal'),
      band(1, 'low', 'Low', beyond('Low', 'lt')),
      band(2, 'high', 'High', beyond('High', 'gt')),
    ],
  }
}

const within = (value: number, { gt, gte, lt, lte }: Bounds): boolean =>
  (gt === undefined || value > gt) &&
  (gte === undefined || value >= gte) &&
  (lt === undefined || value < lt) &&
  (lte === undefined || value <= lte)

/** The first band from the highest severity down that the values match; a value that is not there matches nothing. */
export function bandOf<Name extends string>(
  { bands }: Pick<ThresholdSet<Name>, 'bands'>,
  names: readonly Name[],
  values: { [name in Name]?: number },
): Band<Name> | undefined {
  const matches = (band: Band<Name>): boolean => {
    const results = names.flatMap((name) => {
      const bounds = band[name] as Bounds | undefined
      const value = values[name]
      return bounds && value !== undefined ? [within(value, bounds)] : []
    })
    return band.combine === 'any' ? results.includes(true) : results.length > 0 && !results.includes(false)
  }
  return [...bands].sort((a, b) => b.severity - a.severity).find(matches)
}

/** The band of values in their own unit; compared unrounded, in the unit of the thresholds. */
export function bandOfValues<Name extends string>(
  { names, unit }: Thresholded<Name>,
  set: ThresholdSet<Name>,
  values: { [name in Name]?: number },
): Band<Name> | undefined {
  const converted = Object.entries<number | undefined>(values).map(([name, value]) => [
    name,
    value === undefined ? undefined : convert(value, unit, set.unit),
  ])
  return bandOf(set, names, Object.fromEntries(converted))
}

/** Where a band begins and ends for one value alone, in the unit of the set. */
export interface Stretch<Name extends string = string> {
  band: Band<Name>
  from: number
  to: number
}

/** The bands of one value alone between two ends, from the lowest up. */
export function stretches<Name extends string>(
  set: ThresholdSet<Name>,
  name: Name,
  [min, max]: readonly [number, number],
): Stretch<Name>[] {
  const cuts = set.bands.flatMap(
    (band) => Object.values((band[name] as Bounds | undefined) ?? {}) as number[],
  )
  const inside = cuts.filter((cut) => cut > min && cut < max)
  const ends = [...new Set([min, ...inside, max])].sort((a, b) => a - b)
  const found: Stretch<Name>[] = []
  for (const [i, from] of ends.slice(0, -1).entries()) {
    const to = ends[i + 1] as number
    const band = bandOf(set, [name], { [name]: (from + to) / 2 } as { [n in Name]?: number })
    const last = found.at(-1)
    if (last && last.band === band) last.to = to
    else if (band) found.push({ band, from, to })
  }
  return found
}

import { Type } from '@sinclair/typebox'
import { Fraction } from '../fraction.ts'

/** A kind of quantity; only units of the same kind convert into each other. */
export type QuantityKind =
  | 'pressure'
  | 'temperature'
  | 'mass'
  | 'length'
  | 'bodyMassIndex'
  | 'frequency'
  | 'fraction'
  | 'glucose'

interface Unit {
  /** The UCUM code. */
  code: string
  kind: QuantityKind
  /** Other spellings in use; `C` and `F` are coulomb and farad in UCUM, but here they mean degrees. */
  aliases?: readonly string[]
  /** Value in the base unit of its kind = value x factor + offset. */
  factor: number | Fraction
  offset?: number | Fraction
  /** The unit's name in Open mHealth, if its schemas have it. */
  omh?: string
}

const ratio = (dividend: number, divisor: number): Fraction => Fraction.of(dividend).dividedBy(divisor)

const UNITS: readonly Unit[] = [
  { code: 'mm[Hg]', kind: 'pressure', aliases: ['mmHg'], factor: 1, omh: 'mmHg' },
  { code: 'kPa', kind: 'pressure', factor: ratio(1, 0.133322387415) },
  { code: 'Cel', kind: 'temperature', aliases: ['C', '°C', 'degC'], factor: 1, omh: 'C' },
  {
    code: '[degF]',
    kind: 'temperature',
    aliases: ['F', '°F', 'degF'],
    factor: ratio(5, 9),
    offset: ratio(-160, 9),
    omh: 'F',
  },
  { code: 'K', kind: 'temperature', factor: 1, offset: -273.15, omh: 'K' },
  { code: 'kg', kind: 'mass', factor: 1, omh: 'kg' },
  { code: 'g', kind: 'mass', factor: 0.001, omh: 'g' },
  { code: '[lb_av]', kind: 'mass', aliases: ['lb', 'lbs'], factor: 0.45359237, omh: 'lb' },
  { code: 'm', kind: 'length', factor: 1 },
  { code: 'cm', kind: 'length', factor: 0.01 },
  { code: '[in_i]', kind: 'length', aliases: ['in'], factor: 0.0254 },
  { code: '[ft_i]', kind: 'length', aliases: ['ft'], factor: 0.3048 },
  { code: 'kg/m2', kind: 'bodyMassIndex', aliases: ['kg/m^2'], factor: 1, omh: 'kg/m^2' },
  {
    code: '/min',
    kind: 'frequency',
    aliases: ['{beats}/min', 'beats/min', 'bpm'],
    factor: 1,
    omh: 'beats/min',
  },
  { code: '%', kind: 'fraction', aliases: ['percent'], factor: 1, omh: '%' },
  { code: 'mmol/L', kind: 'glucose', factor: 1, omh: 'mmol/L' },
  { code: 'mg/dL', kind: 'glucose', factor: ratio(1, 18.016), omh: 'mg/dL' },
]

const unitByName = new Map(
  UNITS.flatMap((unit) => [unit.code, ...(unit.aliases ?? [])].map((name) => [name, unit])),
)

/** The accepted names of all units of this kind, for a sentence. */
export const unitNames = (kind: QuantityKind): string[] =>
  UNITS.filter((unit) => unit.kind === kind).flatMap(({ code, aliases = [] }) => [code, ...aliases])

/** Unit of a quantity. A rule checks the name, which the documents list. */
export const unitField = (noun: string, kind: QuantityKind) =>
  Type.String({
    minLength: 1,
    maxLength: 20,
    documented: { enum: unitNames(kind) },
    description: `Unit of ${noun}: a UCUM code, or another usual name`,
    examples: [unitNames(kind)[0]],
  })

/** The UCUM code of a unit, by its code or another name. */
export const ucumCodeOf = (name: unknown): string | undefined => unitByName.get(String(name))?.code

/** Whether a name, UCUM code or alias, is a unit of this kind. */
export const isUnitOf = (kind: QuantityKind, name: string): boolean => unitByName.get(name)?.kind === kind

/** The name of a unit in Open mHealth; undefined if its schemas do not have it. */
export const omhUnitOf = (name: unknown): string | undefined => unitByName.get(String(name))?.omh

/**
 * The names of all units that convert into this one; for a unit that does not convert, such as a score's, its
 * own name.
 */
export const convertibleUnitNames = (unit: string): string[] => {
  const kind = unitByName.get(unit)?.kind
  return kind === undefined ? [unit] : unitNames(kind)
}

export const isConvertible = (from: string, to: string): boolean => convertibleUnitNames(to).includes(from)

/**
 * The exact value in another unit.
 * @throws RangeError when a unit is unknown or the two are of different kinds
 */
export function convertExactly(value: number | Fraction, from: string, to: string): Fraction {
  const exact = Fraction.of(value)
  if (from === to) return exact
  const source = unitByName.get(from)
  const target = unitByName.get(to)
  if (!source || !target || source.kind !== target.kind)
    throw new RangeError(`no conversion from ${from} to ${to}`)
  if (source === target) return exact
  const inBaseUnit = exact.times(source.factor).plus(source.offset ?? 0)
  return inBaseUnit.minus(target.offset ?? 0).dividedBy(target.factor)
}

/** The value in another unit, as the nearest number; for output. */
export const convertUnit = (value: number, from: string, to: string): number =>
  convertExactly(value, from, to).toNumber()

/** The lowest and the highest number of a range, over all units of its kind. */
export function widestRange(unit: string, [min, max]: readonly [number, number]) {
  const ends = convertibleUnitNames(unit).map((name) => [
    convertUnit(min, unit, name),
    convertUnit(max, unit, name),
  ])
  const lowest = Math.min(...ends.map(([low = min]) => low))
  const highest = Math.max(...ends.map(([, high = max]) => high))
  return { minimum: Math.floor(lowest * 1e4) / 1e4, maximum: Math.ceil(highest * 1e4) / 1e4 }
}

/** Rounds a number half up for output; classify exact values instead. */
export const roundTo = (value: number, decimals: number): number =>
  Number.isFinite(value) ? Fraction.of(value).round(decimals) : value

/** Rounds like {@link roundTo}, but leaves as many digits of a number that begins after several zeros. */
export function roundKeepingDigits(value: number | Fraction, decimals: number): number {
  const exact = Fraction.of(value)
  const magnitude = Math.abs(exact.toNumber())
  const zeros = magnitude > 0 && magnitude < 1 ? -1 - Math.floor(Math.log10(magnitude)) : 0
  return exact.round(decimals + zeros)
}

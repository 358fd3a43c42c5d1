import fc from 'fast-check'
import { Random } from '../../../fuzz/generator/context/random.ts'
import { bySize } from '../../../harness/test-size.ts'

/** A rational number. The references calculate with it, apart from the service's own fractions. */
export type Ratio = readonly [dividend: bigint, divisor: bigint]

/** The number that a decimal text means. */
export function ratio(decimal: string | number | bigint): Ratio {
  const [, sign = '', whole = '', decimals = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(String(decimal)) ?? []
  const dividend = BigInt(sign + whole + decimals)
  return [dividend, 10n ** BigInt(decimals.length)]
}

export const plus = ([a, b]: Ratio, [c, d]: Ratio): Ratio => [a * d + c * b, b * d]
export const minus = (one: Ratio, [c, d]: Ratio): Ratio => plus(one, [-c, d])
export const times = ([a, b]: Ratio, [c, d]: Ratio): Ratio => [a * c, b * d]
export const over = ([a, b]: Ratio, [c, d]: Ratio): Ratio => (c < 0n ? [-a * d, -b * c] : [a * d, b * c])

/** Below 0, 0 or above 0. */
export const compare = ([a, b]: Ratio, [c, d]: Ratio): number => Number(a * d > c * b) - Number(a * d < c * b)

/** Rounds half up, in both directions from 0. */
export function rounded([a, b]: Ratio, decimals: number): number {
  const size = a < 0n ? -a : a
  const digits = (2n * size * 10n ** BigInt(decimals) + b) / (2n * b)
  return Number(`${a < 0n && digits > 0n ? '-' : ''}${digits}e-${decimals}`)
}

/** A decimal number: as a client sends it, and its value. */
export interface Decimal {
  number: number
  value: Ratio
}

/** A decimal with the given digits, which does not exceed the value by more than some units of its last digit. */
export function decimalNear([a, b]: Ratio, decimals: number, units = 0): Decimal {
  const shift = 10n ** BigInt(decimals)
  const scaled = (a * shift) / b + BigInt(units)
  const digits = scaled < 0n ? 0n : scaled
  return { number: Number(`${digits}e-${decimals}`), value: [digits, shift] }
}

/** A decimal that is one of the values where its digits suffice, else as near to it as it can be; or any. */
export function nearOneOf(random: Random, values: readonly Ratio[], max: number): Decimal {
  const decimals = random.int(0, 4)
  return values.length > 0 && random.chance(0.8)
    ? decimalNear(random.pick(values), decimals, random.pick([-1, 0, 0, 1]))
    : decimalNear([BigInt(random.int(0, max * 10_000)), 10_000n], decimals)
}

export const CASES = bySize(1_000, 10_000)

/** Checks random cases; a failure names the seed of its case. */
export const checkCases = (check: (random: Random) => void): void =>
  fc.assert(
    fc.property(fc.nat(), (seed) => check(new Random(seed))),
    { numRuns: CASES },
  )

/** Units that convert linearly: the value in the quantity's own unit = sent * factor + offset. */
const UNITS: Record<string, readonly [factor: Ratio, offset: Ratio]> = {
  'mm[Hg]': [ratio(1), ratio(0)],
  Cel: [ratio(1), ratio(0)],
  kg: [ratio(1), ratio(0)],
  cm: [ratio(1), ratio(0)],
  '/min': [ratio(1), ratio(0)],
  '%': [ratio(1), ratio(0)],
  'mmol/L': [ratio(1), ratio(0)],
  'kg/m2': [ratio(1), ratio(0)],
  '{score}': [ratio(1), ratio(0)],
  kPa: [over(ratio(1), ratio('0.133322387415')), ratio(0)],
  '[degF]': [
    [5n, 9n],
    [-160n, 9n],
  ],
  K: [ratio(1), ratio('-273.15')],
  g: [ratio('0.001'), ratio(0)],
  '[lb_av]': [ratio('0.45359237'), ratio(0)],
  m: [ratio(100), ratio(0)],
  '[in_i]': [ratio('2.54'), ratio(0)],
  '[ft_i]': [ratio('30.48'), ratio(0)],
  'mg/dL': [over(ratio(1), ratio('18.016')), ratio(0)],
}

const unitOf = (unit: string): readonly [Ratio, Ratio] => {
  const conversion = UNITS[unit]
  if (!conversion) throw new RangeError(unit)
  return conversion
}

export const toOwn = (value: Ratio, unit: string): Ratio => {
  const [factor, offset] = unitOf(unit)
  return plus(times(value, factor), offset)
}

export const fromOwn = (value: Ratio, unit: string): Ratio => {
  const [factor, offset] = unitOf(unit)
  return over(minus(value, offset), factor)
}

/** Numbers of all types on one scale: exact comparison, rounding and digits. */
import type { Decimal128, Long } from 'bson'
import { bsonType, isNullish, isNumeric, toNumber } from './bson-values.ts'
import { fail } from './errors.ts'

/** A decimal is digits * 10 ^ exponent. */
export interface Digits {
  digits: bigint
  exponent: number
  /** Needed beside `digits`, because zero has a sign, too. */
  negative: boolean
}

/** Parses a decimal; no other code reads its text. undefined if it is not finite. */
export const digitsOf = (value: Decimal128): Digits | undefined => {
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:E([+-]?\d+))?$/.exec(String(value))
  if (!match) return undefined
  const [, sign, whole, fraction = '', exponent = '0'] = match
  const digits = BigInt(`${whole}${fraction}`)
  return {
    digits: sign ? -digits : digits,
    exponent: Number(exponent) - fraction.length,
    negative: sign === '-',
  }
}

const truncateDigits = ({ digits, exponent }: Digits): bigint =>
  exponent >= 0 ? digits * 10n ** BigInt(exponent) : digits / 10n ** BigInt(-exponent)

/** A decimal without its fraction; undefined if it is not finite, or far beyond 64 bits. */
export const wholeOfDecimal = (value: Decimal128): bigint | undefined => {
  const parts = digitsOf(value)
  return parts && parts.exponent <= 40 ? truncateDigits(parts) : undefined
}

/** A finite number without its fraction. */
export const toBigInt = (value: unknown): bigint => {
  if (bsonType(value) === 'Long') return (value as Long).toBigInt()
  if (bsonType(value) === 'Decimal128') return truncateDigits(digitsOf(value as Decimal128) as Digits)
  return BigInt(Math.trunc(toNumber(value)))
}

/** An integer that fits into 64 bits; undefined for anything else. */
export const toWholeNumber = (value: unknown): bigint | undefined => {
  if (!isNumeric(value) || !Number.isFinite(toNumber(value))) return undefined
  const whole = toBigInt(value)
  return BigInt.asIntN(64, whole) === whole && equalNumbers(value, whole) ? whole : undefined
}

const equalNumbers = (value: unknown, whole: bigint): boolean => {
  if (bsonType(value) !== 'Decimal128') return bsonType(value) === 'Long' || Number(whole) === toNumber(value)
  const { digits, exponent } = digitsOf(value as Decimal128) as Digits
  return exponent >= 0 || whole * 10n ** BigInt(-exponent) === digits
}

/** A number without its fraction. A decimal is rounded, half to even. */
export const roundToWhole = (value: unknown): number => {
  const parts = bsonType(value) === 'Decimal128' ? digitsOf(value as Decimal128) : undefined
  const number = toNumber(value)
  if (!parts || parts.exponent >= 0) return Math.trunc(number)
  const whole = truncateDigits(parts)
  const unit = 10n ** BigInt(-parts.exponent)
  const rest = 2n * (parts.digits - whole * unit) * (parts.negative ? -1n : 1n)
  const away = rest > unit || (rest === unit && whole % 2n !== 0n)
  return Number(whole + (away ? (parts.negative ? -1n : 1n) : 0n))
}

/**
 * An integer option of a command. Absent, it has the default; other values than an integer in range are
 * refused.
 */
export const readInteger = (value: unknown, name: string, fallback: number, min = 0): number => {
  if (isNullish(value)) return fallback
  if (!isNumeric(value)) return fail(14, `BSON field '${name}' is the wrong type, expected a number`)
  const number = toNumber(value)
  if (!Number.isFinite(number)) return fail(9, `${name} must be a finite number`)
  if (number < min)
    return fail(51024, `BSON field '${name}' value must be >= ${min}, actual value '${number}'`)
  return roundToWhole(value)
}

/**
 * A number as the nearest double and an exactly comparable remainder. Only longs beyond 2^53 and decimals
 * have a remainder.
 */
export const numberParts = (value: unknown): [number, number] => {
  const near = toNumber(value)
  const type = bsonType(value)
  if (type === 'Long')
    return Number.isSafeInteger(near) ? [near, 0] : [near, Number((value as Long).toBigInt() - BigInt(near))]
  return type === 'Decimal128' ? decimalParts(value as Decimal128, near) : [near, 0]
}

const decimalParts = (value: Decimal128, near: number): [number, number] => {
  const { digits, exponent, negative } = digitsOf(value) ?? {}
  if (digits === undefined || exponent === undefined) return [near, 0]
  if (digits === 0n) return [0, 0]
  // Numbers beyond the range of doubles sort after the largest one, or next to zero, by their logarithm.
  const text = String(negative ? -digits : digits)
  const logarithm = exponent + text.length + Math.log10(Number(`0.${text}`))
  const direction = negative ? -1 : 1
  if (!Number.isFinite(near)) return [direction * Number.MAX_VALUE, direction * logarithm]
  if (near === 0) return [0, direction * (10_000 + logarithm)]
  return [near, decimalRemainder(digits, exponent, near)]
}

const decimalRemainder = (digits: bigint, power: number, near: number): number => {
  const [numerator, shift] = binaryFraction(near)
  const ten = 10n ** BigInt(Math.abs(power))
  const left = (power >= 0 ? digits * ten : digits) << BigInt(shift)
  const difference = power >= 0 ? left - numerator : left - numerator * ten
  return Number(difference) / (power >= 0 ? 1 : Number(ten)) / 2 ** shift
}

/** A double as integer / 2^shift. */
export const binaryFraction = (value: number): [bigint, number] => {
  let shift = 0
  let numerator = value
  while (!Number.isInteger(numerator)) {
    numerator *= 2
    shift++
  }
  return [BigInt(numerator), shift]
}

export const compareValues = <T>(a: T, b: T): number => (a < b ? -1 : a > b ? 1 : 0)

export const compareNumbers = (a: unknown, b: unknown): number => {
  const [x, restX] = numberParts(a)
  const [y, restY] = numberParts(b)
  if (Number.isNaN(x) || Number.isNaN(y)) return Number(Number.isNaN(y)) - Number(Number.isNaN(x))
  return compareValues(x, y) || compareValues(restX, restY) || compareDecimals(a, b)
}

/** The remainders of two numbers may have more digits than a double holds. */
const compareDecimals = (a: unknown, b: unknown): number => {
  if (bsonType(a) !== 'Decimal128' || bsonType(b) !== 'Decimal128') return 0
  const x = plainDecimal(a)
  const y = plainDecimal(b)
  if (!x || !y || Math.abs(x.exponent - y.exponent) > 100) return 0
  const exponent = Math.min(x.exponent, y.exponent)
  const scaleDigits = ({ digits, exponent: own }: Pick<Digits, 'digits' | 'exponent'>) =>
    digits * 10n ** BigInt(own - exponent)
  return compareValues(scaleDigits(x), scaleDigits(y))
}

/** Without trailing zeros; undefined if it is not finite. */
const plainDecimal = (value: unknown): Pick<Digits, 'digits' | 'exponent'> | undefined => {
  const parts = digitsOf(value as Decimal128)
  if (!parts || parts.digits === 0n) return parts
  const zeros = /(?<!0)0*$/.exec(String(parts.digits))?.[0].length ?? 0
  return { digits: parts.digits / 10n ** BigInt(zeros), exponent: parts.exponent + zeros }
}

/** The digits of a decimal beyond those that its number parts contain. */
export const digitsBeyondParts = (value: unknown): string => {
  const plain = bsonType(value) === 'Decimal128' ? plainDecimal(value) : undefined
  return plain && String(plain.digits).length > 30 ? `:${plain.digits}E${plain.exponent}` : ''
}

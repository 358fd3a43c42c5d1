/**
 * Arithmetic on BSON numbers: integers stay integers, decimals exact. An Int32 that overflows becomes a Long.
 */
import { Decimal128, Double, Int32, Long } from 'bson'
import { bsonType, toNumber } from '../../values/bson-values.ts'
import { fail } from '../../values/errors.ts'
import { binaryFraction, type Digits, digitsOf as digitsOfDecimal } from '../../values/numbers.ts'

export type Calculation = 'add' | 'subtract' | 'multiply'

/** @param onOverflow for an integer result beyond 64 bits: convert it to a double, or throw 2 (BadValue) */
export const calculate = (
  how: Calculation,
  a: unknown,
  b: unknown,
  onOverflow: 'double' | 'fail' = 'fail',
): unknown => {
  const types = [bsonType(a), bsonType(b)]
  if (types.includes('Decimal128')) return decimal(how, a, b)
  if (isDouble(a) || isDouble(b)) return new Double(doubles[how](toNumber(a), toNumber(b)))
  const result = integers[how](toWhole(a), toWhole(b))
  if (BigInt.asIntN(64, result) !== result) {
    if (onOverflow === 'double') return new Double(Number(result))
    fail(2, 'the result of the operation does not fit into a 64-bit integer')
  }
  return toSmallestInteger(result, types.includes('Long'))
}

const doubles = {
  add: (x: number, y: number) => x + y,
  subtract: (x: number, y: number) => x - y,
  multiply: (x: number, y: number) => x * y,
}
const integers = {
  add: (x: bigint, y: bigint) => x + y,
  subtract: (x: bigint, y: bigint) => x - y,
  multiply: (x: bigint, y: bigint) => x * y,
}

export const isDouble = (value: unknown): boolean => typeof value === 'number' || bsonType(value) === 'Double'

export const isDecimal = (value: unknown): value is Decimal128 => bsonType(value) === 'Decimal128'

/** An Int32 if the value fits and `long` is false; otherwise a Long. */
export const toSmallestInteger = (value: bigint, long: boolean): Int32 | Long =>
  !long && BigInt.asIntN(32, value) === value ? new Int32(Number(value)) : Long.fromBigInt(value)

export const toWhole = (value: unknown): bigint =>
  bsonType(value) === 'Long' ? (value as Long).toBigInt() : BigInt(toNumber(value))

const digitsOf = (value: unknown): Digits | undefined => digitsOfDecimal(toDecimal128(value))

/** Any number as a decimal; a double by its 15 significant digits, as MongoDB converts it. */
export const toDecimal128 = (value: unknown): Decimal128 => {
  if (isDecimal(value)) return value
  if (!isDouble(value)) return Decimal128.fromString(String(value))
  const number = toNumber(value)
  if (!Number.isFinite(number)) return Decimal128.fromString(String(number))
  return Decimal128.fromString(Object.is(number, -0) ? '-0' : number === 0 ? '0' : number.toPrecision(15))
}

/** A double as a decimal with all its digits, rounded to the 34 that a decimal has. */
export const exactDecimal = (value: number): Decimal128 => {
  if (!Number.isFinite(value)) return Decimal128.fromString(String(value))
  const [numerator, shift] = binaryFraction(value)
  return trimDecimal(numerator * 5n ** BigInt(shift), -shift, 0, Object.is(value, -0))
}

/** An infinity or NaN is itself; any other number counts only as its sign. */
const sign = (value: unknown, digits: Digits | undefined): number =>
  digits ? (digits.digits === 0n ? (digits.negative ? -0 : 0) : digits.negative ? -1 : 1) : toNumber(value)

const decimal = (how: Calculation, a: unknown, b: unknown): Decimal128 => {
  const x = digitsOf(a)
  const y = digitsOf(b)
  const none = [a, b].find((value) => isDecimal(value) && isNaNDecimal(value))
  if (none) return none as Decimal128
  if (!x || !y) return Decimal128.fromString(String(doubles[how](sign(a, x), sign(b, y))))
  if (how === 'multiply')
    return buildDecimal(x.digits * y.digits, x.exponent + y.exponent, x.negative !== y.negative)
  const exponent = Math.min(x.exponent, y.exponent)
  const scaleDigits = ({ digits, exponent: own }: Digits) => digits * 10n ** BigInt(own - exponent)
  const result = integers[how](scaleDigits(x), scaleDigits(y))
  const yNegative = how === 'subtract' ? !y.negative : y.negative
  return buildDecimal(result, exponent, x.negative && yNegative)
}

const MAX_DIGITS = 34
const MAX_EXPONENT = 6111
const SMALLEST_EXPONENT = -6176

/** Rounds to 34 digits, half to even. Larger values become infinite, smaller ones zero. */
const buildDecimal = (digits: bigint, exponent: number, negativeZero: boolean): Decimal128 => {
  const negative = digits < 0n
  const text = String(negative ? -digits : digits)
  const tooMany = Math.max(text.length - MAX_DIGITS, SMALLEST_EXPONENT - exponent, 0)
  let rest = tooMany === 0 ? BigInt(text) : roundHalfEven(BigInt(text), tooMany)
  let power = exponent + tooMany
  while (power > MAX_EXPONENT && rest !== 0n && String(rest).length < MAX_DIGITS) {
    rest *= 10n
    power--
  }
  const sign = negative || (digits === 0n && negativeZero) ? '-' : ''
  if (rest === 0n) power = Math.min(Math.max(power, SMALLEST_EXPONENT), MAX_EXPONENT)
  if (power > MAX_EXPONENT) return Decimal128.fromString(`${sign}Infinity`)
  return Decimal128.fromString(`${sign}${rest}E${power}`)
}

const roundHalfEven = (digits: bigint, places: number): bigint => {
  if (places > 7000) return 0n
  const unit = 10n ** BigInt(places)
  const quotient = digits / unit
  const rest = digits % unit
  const twice = rest * 2n
  return twice > unit || (twice === unit && quotient % 2n === 1n) ? quotient + 1n : quotient
}

/** NaN has a sign, which must be kept. */
const isNaNDecimal = (value: Decimal128): boolean => String(value) === 'NaN'

/** @returns undefined if the divisor is zero */
export const divideDecimals = (a: unknown, b: unknown): Decimal128 | undefined => {
  const x = digitsOf(a)
  const y = digitsOf(b)
  if (isDecimal(a) && isNaNDecimal(a)) return a
  if (y?.digits === 0n) return undefined
  if (!x || !y) return Decimal128.fromString(String(toNumber(a) / toNumber(b)))
  const extra = Math.max(0, String(y.digits).length - String(x.digits).length + MAX_DIGITS + 3)
  const dividend = x.digits * 10n ** BigInt(extra)
  const quotient = dividend / y.digits
  const rest = dividend % y.digits
  const ideal = x.exponent - y.exponent
  if (rest === 0n) return trimDecimal(quotient, ideal - extra, ideal, x.negative !== y.negative)
  // An extra last digit represents the remainder, so that ties round correctly.
  return buildDecimal(quotient * 10n + (x.negative === y.negative ? 1n : -1n), ideal - extra - 1, false)
}

const trimDecimal = (digits: bigint, exponent: number, ideal: number, negative: boolean): Decimal128 => {
  let rest = digits
  let power = exponent
  while (power < ideal && rest !== 0n && rest % 10n === 0n) {
    rest /= 10n
    power++
  }
  return buildDecimal(rest, rest === 0n ? ideal : power, negative)
}

/** @returns undefined if the divisor is zero */
export const remainderOfDecimals = (a: unknown, b: unknown): Decimal128 | undefined => {
  const x = digitsOf(a)
  const y = digitsOf(b)
  if (y?.digits === 0n) return undefined
  if (!x || (!y && Number.isNaN(toNumber(b)))) return Decimal128.fromString('NaN')
  if (!y) return toDecimal128(a)
  const exponent = Math.min(x.exponent, y.exponent)
  const scaleDigits = ({ digits, exponent: own }: Digits) => digits * 10n ** BigInt(own - exponent)
  return buildDecimal(scaleDigits(x) % scaleDigits(y), exponent, x.negative)
}

/** Parses digits, rounded to the precision of a decimal; undefined for an invalid text. */
export const parseDecimal = (text: string): Decimal128 | undefined => {
  const match = /^([+-]?)(\d*)(?:\.(\d*))?(?:e([+-]?\d+))?$/i.exec(text)
  if (!match) return undefined
  const [, sign, whole = '', fraction = '', exponent = '0'] = match
  const before = whole.replace(/^0+/, '')
  const significantDigits = `${whole}${fraction}`.replace(/^0+/, '')
  if (before !== '' && before.length < MAX_DIGITS && significantDigits.length > MAX_DIGITS)
    return roundByLastDigit(significantDigits, Number(exponent) + before.length - MAX_DIGITS, sign === '-')
  const digits = BigInt(significantDigits || '0')
  return buildDecimal(sign === '-' ? -digits : digits, Number(exponent) - fraction.length, sign === '-')
}

/** For digits after a point, MongoDB rounds by the last digit that it keeps. */
const roundByLastDigit = (digits: string, exponent: number, negative: boolean): Decimal128 => {
  const rounded = BigInt(digits.slice(0, MAX_DIGITS)) + (Number(digits[MAX_DIGITS - 1]) > 4 ? 1n : 0n)
  return buildDecimal(negative ? -rounded : rounded, exponent, negative)
}

/** Appends zeros up to the decimal place, or as many as a decimal can have. */
const padDecimal = (value: Decimal128, { digits, exponent, negative }: Digits, place: number): Decimal128 => {
  const text = String(digits < 0n ? -digits : digits)
  if (digits === 0n) return Decimal128.fromString(`${negative ? '-' : ''}0E${-place}`)
  const zeros = Math.min(exponent + place, MAX_DIGITS - text.length)
  if (zeros <= 0) return value
  return Decimal128.fromString(`${negative ? '-' : ''}${text}${'0'.repeat(zeros)}E${exponent - zeros}`)
}

/** Rounds at a decimal place. */
export const roundDecimal = (
  value: Decimal128,
  place: number,
  how: 'even' | 'zero' | 'up' | 'down',
): Decimal128 => {
  const parts = digitsOf(value)
  // Infinity and NaN: floor and ceil give NaN; truncating and rounding leave them unchanged.
  if (!parts) return how === 'up' || how === 'down' ? Decimal128.fromString('NaN') : value
  const digits = String(parts.digits).length + parts.exponent
  if ((how === 'up' || how === 'down') && parts.digits !== 0n && digits > MAX_DIGITS && parts.exponent > 0)
    return Decimal128.fromString('NaN')
  if (parts.exponent >= -place) return padDecimal(value, parts, place)
  const places = -place - parts.exponent
  const magnitude = parts.digits < 0n ? -parts.digits : parts.digits
  const unit = places > 7000 ? 0n : 10n ** BigInt(places)
  const [whole, rest] = unit === 0n ? [0n, magnitude] : [magnitude / unit, magnitude % unit]
  const away = rest !== 0n && ((how === 'up' && !parts.negative) || (how === 'down' && parts.negative))
  const rounded =
    how === 'even' ? (unit === 0n ? 0n : roundHalfEven(magnitude, places)) : away ? whole + 1n : whole
  return buildDecimal(parts.negative ? -rounded : rounded, -place, parts.negative)
}

export const negateDecimal = (value: Decimal128): Decimal128 => {
  const text = String(value)
  return Decimal128.fromString(text.startsWith('-') ? text.slice(1) : `-${text}`)
}

/** The square root to 34 digits. */
export const squareRootOfDecimal = (value: Decimal128): Decimal128 => {
  const parts = digitsOf(value)
  if (!parts || parts.digits === 0n) return value
  const shift = 70 + ((parts.exponent + 70) % 2 === 0 ? 0 : 1)
  const root = wholeRoot(parts.digits * 10n ** BigInt(shift))
  const exponent = (parts.exponent - shift) / 2
  const exact = root * root === parts.digits * 10n ** BigInt(shift)
  return exact
    ? trimDecimal(root, exponent, Math.floor(parts.exponent / 2), false)
    : buildDecimal(root * 10n + 1n, exponent - 1, false)
}

const wholeRoot = (value: bigint): bigint => {
  let guess = 10n ** BigInt(Math.ceil(String(value).length / 2))
  for (;;) {
    const better = (guess + value / guess) / 2n
    if (better >= guess) return guess
    guess = better
  }
}

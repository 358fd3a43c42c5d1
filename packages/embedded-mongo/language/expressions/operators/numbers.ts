/** Operators on numbers: arithmetic, rounding, logarithms, angles, bits. */
import { Decimal128, Double, Int32, Long } from 'bson'
import { bsonType, isNullish, isNumeric, toNumber } from '../../../values/bson-values.ts'
import { fail } from '../../../values/errors.ts'
import { wholeOfDecimal } from '../../../values/numbers.ts'
import {
  type Calculation,
  calculate,
  divideDecimals,
  isDecimal,
  isDouble,
  negateDecimal,
  remainderOfDecimals,
  roundDecimal,
  squareRootOfDecimal,
  toDecimal128,
  toSmallestInteger,
  toWhole,
} from '../arithmetic.ts'
import type { ExpressionOperator } from '../expression.ts'
import { MANY_OPERANDS, typeName, withOneOperand, withOperands } from './operands.ts'
import { Sum } from './sum.ts'

const mismatch = (name: string, value: unknown, code = 14): never =>
  fail(code, `${name} only supports numeric types, not ${typeName(value)}`)

const isLong = (value: unknown): boolean => bsonType(value) === 'Long'

const latest = 8.64e15

const toDate = (milliseconds: number): Date =>
  Math.abs(milliseconds) <= latest ? new Date(milliseconds) : fail(15, 'date overflow')

/** The date plus or minus a number of milliseconds. */
const addMilliseconds = (date: Date, milliseconds: unknown, sign: 1 | -1): Date => {
  const distance = toNumber(milliseconds)
  if (!Number.isFinite(distance)) return fail(15, 'date overflow')
  return toDate(date.getTime() + sign * Math.sign(distance) * Math.round(Math.abs(distance)))
}

const $add = withOperands(0, MANY_OPERANDS, (values, _, name) => {
  if (values.some(isNullish)) return null
  const sum = new Sum(true)
  let date: Date | undefined
  for (const value of values) {
    if (value instanceof Date) {
      if (date) fail(16612, 'only one date allowed in an $add expression')
      date = value
    } else if (isNumeric(value)) sum.add(value)
    else fail(14, `${name} only supports numeric or date types, not ${typeName(value)}`)
  }
  return date ? addMilliseconds(date, sum.value, 1) : sum.value
})

const $subtract = withOperands(2, 2, ([a, b], _, name) => {
  if (isNullish(a) || isNullish(b)) return null
  if (isNumeric(a) && isNumeric(b)) return calculate('subtract', a, b, 'double')
  if (a instanceof Date && b instanceof Date) return Long.fromNumber(a.getTime() - b.getTime())
  if (a instanceof Date && isNumeric(b)) return addMilliseconds(a, b, -1)
  return fail(14, `can't ${name} ${typeName(b)} from ${typeName(a)}`)
})

const $multiply = withOperands(0, MANY_OPERANDS, (values, _, name) => {
  if (values.some(isNullish)) return null
  for (const value of values) if (!isNumeric(value)) mismatch(name, value)
  return values.reduce(
    (product, value) => calculate('multiply' as Calculation, product, value, 'double'),
    new Int32(1),
  )
})

const $divide = withOperands(2, 2, ([a, b], _, name) => {
  if (isNullish(a) || isNullish(b)) return null
  if (!isNumeric(a) || !isNumeric(b))
    fail(14, `${name} only supports numeric types, not ${typeName(a)} and ${typeName(b)}`)
  if (isDecimal(a) || isDecimal(b)) return divideDecimals(a, b) ?? fail(2, "can't $divide by zero")
  if (toNumber(b) === 0) fail(2, "can't $divide by zero")
  return new Double(toNumber(a) / toNumber(b))
})

const $mod = withOperands(2, 2, ([a, b], _, name) => {
  if (isNullish(a) || isNullish(b)) return null
  if (!isNumeric(a) || !isNumeric(b))
    fail(16611, `${name} only supports numeric types, not ${typeName(a)} and ${typeName(b)}`)
  if (isDecimal(a) || isDecimal(b)) return remainderOfDecimals(a, b) ?? fail(5733415, "can't $mod by zero")
  if (toNumber(b) === 0) fail(16610, "can't $mod by zero")
  if (isDouble(a) || isDouble(b)) return new Double(toNumber(a) % toNumber(b))
  return toSmallestInteger(toWhole(a) % toWhole(b), isLong(a) || isLong(b))
})

/** An operator on one number; null for null or a missing value. */
const defineNumeric = (run: (value: unknown, name: string) => unknown, code = 28765): ExpressionOperator =>
  withOneOperand((value, name) =>
    isNullish(value) ? null : isNumeric(value) ? run(value, name) : mismatch(name, value, code),
  )

const $abs = defineNumeric((value) => {
  if (isDecimal(value)) return String(value).startsWith('-') ? negateDecimal(value) : value
  if (isDouble(value)) return new Double(Math.abs(toNumber(value)))
  const integer = toWhole(value)
  if (integer === -(2n ** 63n)) fail(28680, "can't take $abs of long long min")
  return toSmallestInteger(integer < 0n ? -integer : integer, isLong(value))
})

const wholeOf = (how: 'up' | 'down'): ExpressionOperator =>
  defineNumeric((value) => {
    if (isDecimal(value)) return roundDecimal(value, 0, how)
    return isDouble(value) ? new Double((how === 'up' ? Math.ceil : Math.floor)(toNumber(value))) : value
  })

const roundDouble = (value: number, place: number, how: 'even' | 'zero'): number => {
  if (!Number.isFinite(value)) return value
  if (place === 0 && how === 'zero') return Math.trunc(value)
  if (place >= 0 && Number.isInteger(value)) return value
  const exact = Decimal128.fromStringWithRounding(Object.is(value, -0) ? '-0' : exactText(value))
  return toNumber(roundDecimal(exact, place, how))
}

/** Exact digits: the shortest digits of a double may look like a tie that its value does not reach. */
const exactText = (value: number): string =>
  Math.abs(value) < 1e21 && Math.abs(value) > 1e-6 ? value.toFixed(30) : String(value)

const defineRounding = (how: 'even' | 'zero'): ExpressionOperator =>
  withOperands(1, 2, (values, _, name) => {
    const [value, place] = values
    if (isNullish(value) || (values.length > 1 && isNullish(place))) return null
    if (!isNumeric(value)) mismatch(name, value, 51081)
    const places = place === undefined ? 0 : precision(place, name)
    if (isDecimal(value)) return roundDecimal(value, places, how)
    if (isDouble(value)) return new Double(roundDouble(toNumber(value), places, how))
    if (places >= 0) return value
    const rounded = roundWhole(toWhole(value), -places, how)
    return BigInt.asIntN(64, rounded) === rounded
      ? toSmallestInteger(rounded, isLong(value))
      : fail(51080, `invalid conversion from Decimal128 result in ${name}`)
  })

const roundWhole = (value: bigint, places: number, how: 'even' | 'zero'): bigint =>
  wholeOfDecimal(roundDecimal(Decimal128.fromString(String(value)), -places, how)) ?? 0n

const precision = (value: unknown, name: string): number => {
  const place = isNumeric(value) ? toNumber(value) : Number.NaN
  if (!isNumeric(value)) fail(16004, `${name} needs a number for its place, not ${typeName(value)}`)
  if (!Number.isFinite(place) && !(isDecimal(value) && Number.isNaN(place)))
    fail(31109, `${name} precision must be finite`)
  if (!Number.isInteger(place)) fail(51082, `${name} precision must be a whole number`)
  if (place < -20 || place > 100)
    fail(51083, `cannot apply ${name} with precision value ${place}; must be in [-20, 100]`)
  return place
}

/** Functions computed with doubles. A decimal is supported only if the result needs no digits. */
const defineTranscendental = (
  name: string,
  run: (value: number) => number,
  domain: (value: number) => boolean = () => true,
  code = 50989,
): [string, ExpressionOperator] => [
  name,
  defineNumeric((value) => {
    const number = toNumber(value)
    if (!Number.isNaN(number) && !domain(number))
      fail(code, `cannot apply ${name} to ${number}, value must be in its domain`)
    return inDoubles(name, value, run(number))
  }),
]

const inDoubles = (name: string, value: unknown, result: number): unknown => {
  if (!isDecimal(value)) return new Double(result)
  // Here MongoDB returns NaN as a double.
  if (/^\$(ln|log)/.test(name) && Number.isNaN(toNumber(value))) return new Double(Number.NaN)
  const special = /nan|inf/i.test(String(value))
  if (special || Number.isNaN(result) || (Number.isInteger(result) && toNumber(value) === 0))
    return Decimal128.fromString(Object.is(result, -0) ? '-0' : String(result))
  return fail(115, `${name} of a decimal is not supported by this engine`)
}

const positive = (value: number): boolean => value > 0

const $sqrt = defineNumeric((value) => {
  if (toNumber(value) < 0) fail(28714, '$sqrt argument must be greater than or equal to 0')
  return isDecimal(value) ? squareRootOfDecimal(value) : new Double(Math.sqrt(toNumber(value)))
})

const $log = withOperands(2, 2, ([value, base], _, name) => {
  if (isNullish(value) || isNullish(base)) return null
  if (!isNumeric(value)) fail(28756, `${name}'s argument must be numeric, not ${typeName(value)}`)
  if (!isNumeric(base)) fail(28757, `${name}'s base must be numeric, not ${typeName(base)}`)
  const x = toNumber(value)
  const b = toNumber(base)
  if (x <= 0) fail(28758, `${name}'s argument must be a positive number, but is ${x}`)
  if (b <= 0 || b === 1) fail(28759, `${name}'s base must be a positive number not equal to 1, but is ${b}`)
  const decimal = [value, base].filter(isDecimal)
  const deciding = decimal.find((one) => Number.isNaN(toNumber(one))) ?? decimal[0] ?? value
  return inDoubles(name, deciding, Math.log(x) / Math.log(b))
})

const $pow = withOperands(2, 2, ([base, exponent], _, name) => {
  if (isNullish(base) || isNullish(exponent)) return null
  if (!isNumeric(base)) fail(28762, `${name}'s base must be numeric, not ${typeName(base)}`)
  if (!isNumeric(exponent)) fail(28763, `${name}'s exponent must be numeric, not ${typeName(exponent)}`)
  const b = toNumber(base)
  const e = toNumber(exponent)
  if (b === 0 && e < 0) fail(28764, `${name} cannot take a base of 0 and a negative exponent`)
  if (isDecimal(base) || isDecimal(exponent)) return decimalPower(toDecimal128(base), exponent, b ** e)
  if (isDouble(base) || isDouble(exponent)) return new Double(b === 1 ? 1 : b ** e)
  if (e < 0)
    return Math.abs(b) === 1
      ? toSmallestInteger(BigInt(b ** (Math.abs(e) % 2)), isLong(base) || isLong(exponent))
      : new Double(b ** e)
  const power =
    Math.abs(b) <= 1 || e <= 64
      ? toWhole(base) ** BigInt(Math.abs(b) <= 1 ? e % 2 || (e === 0 ? 0 : 2) : e)
      : 2n ** 70n
  if (BigInt.asIntN(64, power) !== power) return new Double(b ** e)
  return toSmallestInteger(power, isLong(base) || isLong(exponent))
})

const MAX_DECIMAL = '9.999999999999999999999999999999999E+6144'

const decimalPower = (base: Decimal128, exponent: unknown, rough: number): unknown => {
  const times = toNumber(exponent)
  if (rough === 0 && !Number.isFinite(toNumber(base))) return Decimal128.fromString('0E-6176')
  if (!Number.isInteger(times) || times < 0 || times > 1000) return inDoubles('$pow', base, rough)
  let power: unknown = Decimal128.fromString('1')
  for (let i = 0; i < times; i++) power = calculate('multiply', power, base)
  if (times === 0 || toNumber(power) === 0) return times === 0 ? power : Decimal128.fromString('0E-6176')
  // A nonzero power has all digits that a decimal can have. The largest decimal means overflow.
  if (String(power).replace('-', '') === MAX_DECIMAL) return calculate('multiply', power, new Int32(10))
  return roundDecimal(power as Decimal128, 7000, 'zero')
}

const defineBitOperator = (run: (a: bigint, b: bigint) => bigint, start: bigint): ExpressionOperator =>
  withOperands(0, MANY_OPERANDS, (values, _, name) => {
    if (values.some(isNullish)) return null
    for (const value of values)
      if (!isNumeric(value) || isDouble(value) || isDecimal(value))
        fail(14, `${name} only supports int and long operands, not ${typeName(value)}`)
    return toSmallestInteger(values.map(toWhole).reduce(run, start), values.some(isLong))
  })

const $bitNot = withOneOperand((value, name) => {
  if (isNullish(value)) return null
  if (!isNumeric(value) || isDouble(value) || isDecimal(value))
    fail(14, `${name} only supports int and long, not: ${typeName(value)}`)
  return toSmallestInteger(~toWhole(value), isLong(value))
})

const radians = Math.PI / 180
const inUnit = (value: number): boolean => Math.abs(value) <= 1
const finite = (value: number): boolean => Number.isFinite(value)

const $atan2 = withOperands(2, 2, ([y, x], _, name) => {
  if (isNullish(y) || isNullish(x)) return null
  for (const [value, code] of [
    [y, 51044],
    [x, 51045],
  ] as const)
    if (!isNumeric(value)) fail(code, `${name} only supports numeric types, not ${typeName(value)}`)
  return inDoubles(name, isDecimal(y) ? y : x, Math.atan2(toNumber(y), toNumber(x)))
})

export const numbers: Record<string, ExpressionOperator> = {
  $add,
  $subtract,
  $multiply,
  $divide,
  $mod,
  $abs,
  $ceil: wholeOf('up'),
  $floor: wholeOf('down'),
  $round: defineRounding('even'),
  $trunc: defineRounding('zero'),
  $sqrt,
  $log,
  $pow,
  $atan2,
  $bitAnd: defineBitOperator((a, b) => a & b, -1n),
  $bitOr: defineBitOperator((a, b) => a | b, 0n),
  $bitXor: defineBitOperator((a, b) => a ^ b, 0n),
  $bitNot,
  ...Object.fromEntries([
    defineTranscendental('$exp', Math.exp),
    defineTranscendental('$ln', Math.log, positive, 28766),
    defineTranscendental('$log10', Math.log10, positive, 28761),
    defineTranscendental('$sin', Math.sin, finite),
    defineTranscendental('$cos', Math.cos, finite),
    defineTranscendental('$tan', Math.tan, finite),
    defineTranscendental('$asin', Math.asin, inUnit),
    defineTranscendental('$acos', Math.acos, inUnit),
    defineTranscendental('$atan', Math.atan),
    defineTranscendental('$sinh', Math.sinh),
    defineTranscendental('$cosh', Math.cosh),
    defineTranscendental('$tanh', Math.tanh),
    defineTranscendental('$asinh', Math.asinh),
    defineTranscendental('$acosh', Math.acosh, (value) => value >= 1),
    defineTranscendental('$atanh', Math.atanh, inUnit),
    defineTranscendental('$degreesToRadians', (value) => value * radians),
    defineTranscendental('$radiansToDegrees', (value) => value / radians),
  ]),
}

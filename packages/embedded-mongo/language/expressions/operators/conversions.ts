/** $convert and its relatives, $type, $isNumber. */
import { Binary, Decimal128, Double, type Int32, type Long, ObjectId, type Timestamp } from 'bson'
import { bsonType, isNullish, isNumeric, toNumber } from '../../../values/bson-values.ts'
import { CommandError, fail } from '../../../values/errors.ts'
import { wholeOfDecimal } from '../../../values/numbers.ts'
import { isDecimal, isDouble, parseDecimal, toDecimal128, toSmallestInteger, toWhole } from '../arithmetic.ts'
import type { Expression, ExpressionOperator } from '../expression.ts'
import { parseDateText } from './dates/date-text.ts'
import { compileNamedOperands, isTrue, typeName, withNamedOperands, withOneOperand } from './operands.ts'
import { toText } from './text.ts'

const failConversion = (value: unknown, to: string): never =>
  fail(241, `Unsupported conversion from ${typeName(value)} to ${to} in $convert with no onError value`)

const failParsing = (why: string): never =>
  fail(241, `Failed to parse in $convert with no onError value: ${why}`)

const failOverflow = (): never =>
  fail(241, 'Conversion would overflow target type in $convert with no onError value')

const wholeOf = (value: unknown, bits: 32 | 64, to: string): Int32 | Long => {
  let integer: bigint
  if (typeof value === 'boolean') integer = value ? 1n : 0n
  else if (value instanceof Date && bits === 64) integer = BigInt(value.getTime())
  else if (typeof value === 'string')
    integer = /^[+-]?\d+$/.test(value) ? BigInt(value) : failParsing(`'${to}' from text`)
  else if (isDecimal(value)) integer = decimalWhole(value)
  else if (isDouble(value)) {
    const number = toNumber(value)
    if (!Number.isFinite(number))
      fail(241, 'Attempt to convert NaN or infinity to an integer in $convert with no onError value')
    integer = BigInt(Math.trunc(number))
  } else if (isNumeric(value)) integer = toWhole(value)
  else return failConversion(value, to)
  if (BigInt.asIntN(bits, integer) !== integer) failOverflow()
  return toSmallestInteger(integer, bits === 64)
}

const decimalWhole = (value: Decimal128): bigint => {
  if (/nan|inf/i.test(String(value)))
    fail(241, 'Attempt to convert NaN or infinity to an integer in $convert with no onError value')
  return wholeOfDecimal(value) ?? failOverflow()
}

const numberText = /^[+-]?(\d+(?:\.\d*)?|\.\d+)(e[+-]?\d+)?$|^[+-]?(inf|infinity|nan)$/i

const hexadecimal = /^([+-]?)0x([\da-f]*)(?:\.([\da-f]*))?(?:p([+-]?\d+))?$/i

const hexadecimalOf = (text: string): number | undefined => {
  const [, sign, whole = '', fraction = '', power = '0'] = hexadecimal.exec(text) ?? []
  if (whole + fraction === '') return undefined
  const number = Number.parseInt(whole + fraction, 16) * 2 ** (Number(power) - 4 * fraction.length)
  return sign === '-' ? -number : number
}

const doubleOf = (value: unknown): Double => {
  if (typeof value === 'boolean') return new Double(value ? 1 : 0)
  if (value instanceof Date) return new Double(value.getTime())
  if (typeof value === 'string') {
    const hex = hexadecimalOf(value)
    if (hex !== undefined) return new Double(hex)
    if (!numberText.test(value)) failParsing('a number')
    const special = /^([+-]?)(inf|nan)/i.exec(value)
    const number = special
      ? (special[2]?.toLowerCase() === 'nan' ? Number.NaN : Number.POSITIVE_INFINITY) *
        (special[1] === '-' ? -1 : 1)
      : Number(value)
    if (
      !special &&
      (!Number.isFinite(number) || (number === 0 && /[1-9]/.test(value.split(/e/i, 1)[0] as string)))
    )
      failParsing('out of range')
    return new Double(number)
  }
  if (!isNumeric(value)) return failConversion(value, 'double')
  const number = toNumber(value)
  if (isDecimal(value) && !Number.isFinite(number) && !/nan|inf/i.test(String(value))) failOverflow()
  return new Double(number)
}

const negativeNaN = new Decimal128(Buffer.from(`${'00'.repeat(15)}fc`, 'hex'))

const decimalOf = (value: unknown): Decimal128 => {
  if (typeof value === 'boolean') return Decimal128.fromString(value ? '1' : '0')
  if (value instanceof Date) return Decimal128.fromString(String(value.getTime()))
  if (typeof value === 'string') {
    if (!numberText.test(value)) failParsing('a decimal')
    if (/^-nan$/i.test(value)) return negativeNaN
    const decimal = parseDecimal(value)
    if (!decimal) return Decimal128.fromString(value)
    const isOutOfRange = isTrue(decimal) !== /[1-9]/.test(value.split(/e/i, 1)[0] as string)
    return isOutOfRange || /inf/i.test(String(decimal)) ? failOverflow() : decimal
  }
  return isNumeric(value) ? toDecimal128(value) : failConversion(value, 'decimal')
}

const dateOf = (value: unknown): Date => {
  if (value instanceof Date) return value
  if (typeof value === 'string') return parseDateText(value)
  // The seconds are signed here.
  if (bsonType(value) === 'ObjectId')
    return new Date(Buffer.from((value as ObjectId).id).readInt32BE(0) * 1000)
  if (bsonType(value) === 'Timestamp') return new Date((value as Timestamp).getHighBitsUnsigned() * 1000)
  if (!isNumeric(value) || bsonType(value) === 'Int32') return failConversion(value, 'date')
  const milliseconds = Math.trunc(toNumber(value))
  return Math.abs(milliseconds) <= 8.64e15 ? new Date(milliseconds) : failOverflow()
}

const objectIdOf = (value: unknown): ObjectId => {
  if (bsonType(value) === 'ObjectId') return value as ObjectId
  if (typeof value !== 'string') return failConversion(value, 'objectId')
  return /^[\da-f]{24}$/i.test(value)
    ? new ObjectId(value)
    : failParsing('an ObjectId is 24 hexadecimal digits')
}

const textOf = (value: unknown): string => {
  if (typeof value === 'string') return value
  if (value instanceof Date && !(value.getUTCFullYear() >= 0 && value.getUTCFullYear() <= 9999))
    return fail(18537, 'a date string can have years from 0 to 9999')
  if (typeof value === 'boolean' || value instanceof Date || isNumeric(value)) return toText(value)
  if (bsonType(value) === 'ObjectId') return String(value)
  if (bsonType(value) === 'Binary' && (value as Binary).sub_type === 4)
    return String((value as Binary).toUUID())
  return failConversion(value, 'string')
}

const boolOf = (value: unknown): boolean => {
  if (typeof value === 'boolean') return value
  return isNumeric(value) ? isTrue(value) : true
}

type Conversion = (value: unknown) => unknown

const targets: [name: string, number: number, Conversion][] = [
  ['double', 1, doubleOf],
  ['string', 2, textOf],
  ['objectId', 7, objectIdOf],
  ['bool', 8, boolOf],
  ['date', 9, dateOf],
  ['int', 16, (value) => wholeOf(value, 32, 'int')],
  ['long', 18, (value) => wholeOf(value, 64, 'long')],
  ['decimal', 19, decimalOf],
]

const conversionTo = (to: unknown): Conversion => {
  const target = targets.find(([name, number]) => (isNumeric(to) ? number === toNumber(to) : name === to))
  if (target) return target[2]
  if (isNumeric(to) && !Number.isInteger(toNumber(to)))
    return fail(9, "In $convert, numeric 'to' argument is not an integer")
  if (
    [
      'binData',
      'array',
      'object',
      'regex',
      'minKey',
      'maxKey',
      'timestamp',
      'null',
      'undefined',
      'javascript',
      'symbol',
      'dbPointer',
    ].includes(String(to))
  )
    return (value) =>
      to === 'binData'
        ? fail(115, '$convert to binData is not supported by this engine')
        : failConversion(value, String(to))
  if (typeof to === 'string' || isNumeric(to)) return fail(2, `Unknown type name: ${to}`)
  return fail(9, "$convert's 'to' argument must be a string or number")
}

const $convert: ExpressionOperator = (operand, compiler, name) => {
  const optional = ['onError', 'onNull', 'format', 'byteOrder', 'base']
  const operands = withNamedOperands(operand, name, ['input', 'to'], optional, {
    object: 9,
    unknown: 9,
    missing: 9,
  })
  const { input, to, onError, onNull, format, byteOrder } = compileNamedOperands(
    operands,
    compiler,
  ) as Record<string, Expression>
  if (format || byteOrder)
    return fail(115, '$convert with format or byteOrder is not supported by this engine')
  return (scope) => {
    const value = input?.(scope)
    const target = to?.(scope)
    if (isNullish(value)) return onNull ? onNull(scope) : null
    if (isNullish(target)) return null
    const convert = conversionTo(target)
    if (convert === textOf && bsonType(value) === 'Binary')
      fail(4341115, 'converting binData to a string needs a format')
    try {
      return convert(value)
    } catch (error) {
      if (onError && error instanceof CommandError && error.code === 241) return onError(scope)
      throw error
    }
  }
}

const to =
  (convert: Conversion): ExpressionOperator =>
  (operand, compiler, name) => {
    if (Array.isArray(operand) && operand.length !== 1)
      fail(50723, `${name} requires a single argument, got ${operand.length}`)
    return withOneOperand((value) => (isNullish(value) ? null : convert(value)))(operand, compiler, name)
  }

const $toUUID = to((value) => {
  if (typeof value !== 'string') return failConversion(value, 'binData')
  if (!/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(value)) failParsing('a UUID')
  return new Binary(Buffer.from(value.replaceAll('-', ''), 'hex'), 4)
})

export const conversions: Record<string, ExpressionOperator> = {
  $convert,
  ...Object.fromEntries(
    targets.map(([name, , convert]) => [
      `$to${(name[0] as string).toUpperCase()}${name.slice(1)}`,
      to(convert),
    ]),
  ),
  $toUUID,
  $type: withOneOperand(typeName),
  $isNumber: withOneOperand(isNumeric),
}

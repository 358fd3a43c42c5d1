/** Other operators: sizes, timestamps, random numbers. */
import { Double, Int32, Long, type Timestamp } from 'bson'
import { bsonType, encode, isNullish, isObject } from '../../../values/bson-values.ts'
import { fail } from '../../../values/errors.ts'
import type { ExpressionOperator } from '../expression.ts'
import { typeName, withOneOperand } from './operands.ts'

const $rand: ExpressionOperator = (operand) => {
  if (
    !(
      (isObject(operand) && Object.keys(operand).length === 0) ||
      (Array.isArray(operand) && operand.length === 0)
    )
  )
    fail(
      isObject(operand) || Array.isArray(operand) ? 3040501 : 10065,
      '$rand does not currently accept arguments',
    )
  return () => new Double(Math.random())
}

const $binarySize = withOneOperand((value) => {
  if (isNullish(value)) return null
  if (typeof value === 'string') return new Int32(Buffer.byteLength(value))
  if (bsonType(value) === 'Binary') return new Int32((value as { length(): number }).length())
  return fail(51276, `$binarySize requires a string or BinData argument, found: ${typeName(value)}`)
})

const $bsonSize = withOneOperand((value) => {
  if (isNullish(value)) return null
  return isObject(value)
    ? new Int32(encode(value).length)
    : fail(31393, `$bsonSize requires a document input, found: ${typeName(value)}`)
})

const part = (code: number, read: (value: Timestamp) => number): ExpressionOperator =>
  withOneOperand((value, name) => {
    if (isNullish(value)) return null
    return bsonType(value) === 'Timestamp'
      ? Long.fromNumber(read(value as Timestamp))
      : fail(code, `Argument to ${name} must be a timestamp, but is ${typeName(value)}`)
  })

export const misc: Record<string, ExpressionOperator> = {
  $rand,
  $binarySize,
  $bsonSize,
  $tsSecond: part(5687301, (value) => value.getHighBitsUnsigned()),
  $tsIncrement: part(5687302, (value) => value.getLowBitsUnsigned()),
}

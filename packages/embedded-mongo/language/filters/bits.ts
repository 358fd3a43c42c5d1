/** Bits of integers and of binary data, for $bitsAllSet and its relatives. */
import type { Binary } from 'bson'
import { bsonType, isNumeric, toNumber } from '../../values/bson-values.ts'
import { fail } from '../../values/errors.ts'
import { toWholeNumber } from '../../values/numbers.ts'

type IsSet = (position: number) => boolean

/** A test of the bits at the positions that an operand selects. */
export const createBitTest = (operand: unknown, accept: (positions: number[], isSet: IsSet) => boolean) => {
  const positions = positionsOf(operand)
  return (value: unknown): boolean => {
    const isSet = bitsOf(value)
    return isSet !== undefined && accept(positions, isSet)
  }
}

/** @throws 2, 9 for an operand that selects no bits */
const positionsOf = (operand: unknown): number[] => {
  if (Array.isArray(operand)) return operand.map(positionOf)
  const bytes = bytesOf(operand)
  const isSet = bitsOf(bytes ? operand : mask(operand))
  return Array.from({ length: bytes ? 8 * bytes.length : 64 }, (_, position) => position).filter((position) =>
    isSet?.(position),
  )
}

const positionOf = (value: unknown): number => {
  const position = isNumeric(value) ? toNumber(value) : Number.NaN
  if (!Number.isInteger(position)) return fail(2, 'bit positions must be whole numbers')
  if (position < 0 || position >= 2 ** 31) return fail(2, 'bit positions must be >= 0 and fit into 32 bits')
  return position
}

const mask = (operand: unknown): unknown => {
  if (!isNumeric(operand)) fail(2, 'bit operators need an array, a number, or binary data')
  if (toWholeNumber(operand) === undefined || toNumber(operand) < 0)
    fail(9, 'a bit mask must be a non-negative whole number that fits into 64 bits')
  return operand
}

/** Binary data of the old subtype 2 includes the length at its start. */
const bytesOf = (value: unknown): Uint8Array | undefined => {
  if (bsonType(value) !== 'Binary') return undefined
  const bytes = (value as Binary).value()
  if ((value as Binary).sub_type !== 2) return bytes
  const length = Buffer.alloc(4)
  length.writeInt32LE(bytes.length)
  return Buffer.concat([length, bytes])
}

/** undefined for a value without bits. Beyond its end, a number repeats its sign; binary data has zeros. */
const bitsOf = (value: unknown): IsSet | undefined => {
  const bytes = bytesOf(value)
  if (bytes) return (position) => ((bytes[position >>> 3] ?? 0) & (1 << (position & 7))) !== 0
  const whole = toWholeNumber(value)
  if (whole === undefined) return undefined
  return (position) => ((whole >> BigInt(Math.min(position, 63))) & 1n) !== 0n
}

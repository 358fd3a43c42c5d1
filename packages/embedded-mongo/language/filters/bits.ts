/** Bits of whole numbers and of binary data, for $bitsAllSet and its kin. */
import type { Binary } from 'bson'
import { fail } from '../../values/errors.ts'
import { bsonType, isNumeric, toBigInt, toNumber } from '../../values/values.ts'

type IsSet = (position: number) => boolean

/** A test of the bits at the positions that an operand names. */
export const bits = (operand: unknown, accept: (positions: number[], isSet: IsSet) => boolean) => {
  const positions = positionsOf(operand)
  return (value: unknown): boolean => {
    const isSet = bitsOf(value)
    return isSet !== undefined && accept(positions, isSet)
  }
}

/** @throws 2, 9 for what names no bits */
const positionsOf = (operand: unknown): number[] => {
  if (Array.isArray(operand)) return operand.map(positionOf)
  const isSet = bsonType(operand) === 'Binary' ? bitsOf(operand) : bitsOf(mask(operand))
  const length = bsonType(operand) === 'Binary' ? 8 * (operand as Binary).length() : 64
  return Array.from({ length }, (_, position) => position).filter((position) => isSet?.(position))
}

const positionOf = (value: unknown): number => {
  const position = isNumeric(value) ? toNumber(value) : Number.NaN
  if (!Number.isInteger(position)) return fail(2, 'bit positions must be whole numbers')
  if (position < 0 || position >= 2 ** 31) return fail(2, 'bit positions must be >= 0 and fit into 32 bits')
  return position
}

const mask = (operand: unknown): unknown => {
  const number = isNumeric(operand) ? toNumber(operand) : Number.NaN
  if (!Number.isInteger(number) || number < 0 || toBigInt(operand) >= 2n ** 63n)
    return fail(9, 'bit operators need an array of bit positions, a non-negative whole number or binary data')
  return operand
}

/** undefined for what has no bits; beyond its end a number has its sign, binary data zeros. */
const bitsOf = (value: unknown): IsSet | undefined => {
  if (bsonType(value) === 'Binary') {
    const bytes = (value as Binary).value()
    return (position) => ((bytes[position >>> 3] ?? 0) & (1 << (position & 7))) !== 0
  }
  const number = isNumeric(value) ? toNumber(value) : Number.NaN
  if (!Number.isInteger(number) || toBigInt(value) !== BigInt.asIntN(64, toBigInt(value))) return undefined
  const whole = toBigInt(value)
  return (position) => ((whole >> BigInt(Math.min(position, 63))) & 1n) !== 0n
}

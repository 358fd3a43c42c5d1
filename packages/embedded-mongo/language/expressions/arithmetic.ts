/** $inc and $mul on BSON numbers: whole numbers stay whole, decimals exact, an Int32 that overflows becomes a Long. */
import { Decimal128, Double, Int32, Long } from 'bson'
import { fail } from '../../values/errors.ts'
import { bsonType, toNumber } from '../../values/values.ts'

type Calculation = 'add' | 'multiply'

export const calculate = (how: Calculation, a: unknown, b: unknown): unknown => {
  const types = [bsonType(a), bsonType(b)]
  if (types.includes('Decimal128')) return decimal(how, a, b)
  if (types.includes('Double') || typeof a === 'number' || typeof b === 'number') {
    const [x, y] = [toNumber(a), toNumber(b)]
    return new Double(how === 'add' ? x + y : x * y)
  }
  const [x, y] = [whole(a), whole(b)]
  const result = how === 'add' ? x + y : x * y
  if (!types.includes('Long') && BigInt.asIntN(32, result) === result) return new Int32(Number(result))
  if (BigInt.asIntN(64, result) !== result)
    fail(2, 'the result of the operation does not fit into a 64-bit integer')
  return Long.fromBigInt(result)
}

const whole = (value: unknown): bigint =>
  bsonType(value) === 'Long' ? (value as Long).toBigInt() : BigInt(toNumber(value))

interface Digits {
  digits: bigint
  exponent: number
}

const digitsOf = (value: unknown): Digits | undefined => {
  const text =
    bsonType(value) === 'Decimal128' || bsonType(value) === 'Long' ? String(value) : String(toNumber(value))
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:E([+-]?\d+))?$/i.exec(text)
  if (!match) return undefined
  const [, sign, integer, fraction = '', exponent = '0'] = match
  return { digits: BigInt(`${sign}${integer}${fraction}`), exponent: Number(exponent) - fraction.length }
}

const decimal = (how: Calculation, a: unknown, b: unknown): Decimal128 => {
  const [x, y] = [digitsOf(a), digitsOf(b)]
  if (!x || !y)
    return Decimal128.fromString(
      String(how === 'add' ? toNumber(a) + toNumber(b) : toNumber(a) * toNumber(b)),
    )
  if (how === 'multiply') return toDecimal(x.digits * y.digits, x.exponent + y.exponent)
  const exponent = Math.min(x.exponent, y.exponent)
  const scaled = ({ digits, exponent: own }: Digits) => digits * 10n ** BigInt(own - exponent)
  return toDecimal(scaled(x) + scaled(y), exponent)
}

const toDecimal = (digits: bigint, exponent: number): Decimal128 =>
  Decimal128.fromStringWithRounding(`${digits}E${exponent}`)

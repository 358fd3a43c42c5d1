/** Values as strings, formatted like MongoDB. */
import type { Double, Long, Timestamp } from 'bson'
import { bsonType } from '../../../values/bson-values.ts'

/** A double with as many digits as it needs. */
const doubleText = (value: number): string => {
  if (Number.isNaN(value)) return 'NaN'
  if (!Number.isFinite(value)) return value > 0 ? 'Infinity' : '-Infinity'
  if (Object.is(value, -0)) return '-0'
  const text = String(value)
  const magnitude = Math.abs(value)
  const long = magnitude >= 1e16 || (magnitude < 1e-4 && magnitude > 0)
  const exponent = /^(-?)(\d)(?:\.(\d+))?e([+-])(\d+)$/.exec(long ? value.toExponential() : text)
  if (exponent) {
    const [, sign, first, rest, direction, power = ''] = exponent
    return `${sign}${first}${rest ? `.${rest}` : ''}e${direction}${power.padStart(2, '0')}`
  }
  return text
}

/** Formats like a C++ stream: 6 digits, `inf`, `nan`. */
export const formatLikeStream = (value: number): string => {
  if (Number.isNaN(value)) return 'nan'
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf'
  if (Object.is(value, -0)) return '-0'
  const [, digits = '', sign, power = ''] =
    /^(-?\d(?:\.\d*[1-9])?)\.?0*e([+-])(\d+)$/.exec(value.toExponential(5)) ?? []
  const magnitude = Number(`${sign}${power}`)
  if (magnitude >= -4 && magnitude < 6) return String(Number(value.toPrecision(6)))
  return `${digits}e${sign}${power.padStart(2, '0')}`
}

export const toText = (value: unknown): string => {
  if (value instanceof Date) return value.toISOString()
  if (typeof value === 'number') return doubleText(value)
  switch (bsonType(value)) {
    case 'Double':
      return doubleText((value as Double).value)
    case 'Timestamp':
      return `Timestamp(${(value as Timestamp).getHighBits()}, ${(value as unknown as Long).getLowBitsUnsigned()})`
    case 'Code':
      return String((value as { code: unknown }).code)
    default:
      return String(value)
  }
}

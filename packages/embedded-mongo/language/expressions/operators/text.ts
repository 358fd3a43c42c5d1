/** Values as texts, the way MongoDB writes them. */
import type { Double, Long, Timestamp } from 'bson'
import { bsonType } from '../../../values/values.ts'

/** A double with the digits that it needs. */
const doubleText = (value: number): string => {
  if (Number.isNaN(value)) return 'NaN'
  if (!Number.isFinite(value)) return value > 0 ? 'Infinity' : '-Infinity'
  if (Object.is(value, -0)) return '-0'
  const text = String(value)
  const exponent = /^(-?)(\d)(?:\.(\d+))?e([+-])(\d+)$/.exec(text)
  if (exponent) {
    const [, sign, first, rest, direction, power = ''] = exponent
    return `${sign}${first}${rest ? `.${rest}` : ''}e${direction}${power.padStart(2, '0')}`
  }
  return text
}

export const asText = (value: unknown): string => {
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

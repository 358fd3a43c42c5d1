/** Reads the date and zone operands of operators. */
import type { ObjectId, Timestamp } from 'bson'
import { bsonType, isNullish } from '../../../../values/bson-values.ts'
import { fail } from '../../../../values/errors.ts'
import { typeName } from '../operands.ts'
import { utc, type Zone, zoneOf } from './calendar.ts'

/** The time of a date, an ObjectId or a timestamp. */
export const readDateOperand = (value: unknown, name: string, code = 16006): number => {
  if (value instanceof Date)
    return Number.isNaN(value.getTime())
      ? fail(115, 'dates beyond the year 275760 are not supported by this engine')
      : value.getTime()
  // The seconds of an ObjectId are signed.
  if (bsonType(value) === 'ObjectId')
    return (((value as ObjectId).getTimestamp().getTime() / 1000) | 0) * 1000
  if (bsonType(value) === 'Timestamp') return (value as Timestamp).getHighBitsUnsigned() * 1000
  return fail(code, `can't convert from BSON type ${typeName(value)} to Date (${name})`)
}

/** undefined: the zone is null, so the result is null. */
export const readZoneOperand = (value: unknown, isPresent: boolean): Zone | undefined => {
  if (!isPresent) return utc
  if (isNullish(value)) return undefined
  return typeof value === 'string'
    ? zoneOf(value)
    : fail(40517, `timezone must evaluate to a string, found ${typeName(value)}`)
}

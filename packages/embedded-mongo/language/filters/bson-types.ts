/** The names and numbers of BSON types, for $type. */
import type { Code } from 'bson'
import { bsonType, isNumeric, isObject, toNumber } from '../../values/bson-values.ts'
import { fail } from '../../values/errors.ts'

type Test = (value: unknown) => boolean
const hasBsonType =
  (type: string): Test =>
  (value) =>
    bsonType(value) === type

const types: [name: string, number: number, test: Test][] = [
  ['double', 1, (value) => typeof value === 'number' || hasBsonType('Double')(value)],
  ['string', 2, (value) => typeof value === 'string'],
  ['object', 3, isObject],
  ['array', 4, Array.isArray],
  ['binData', 5, hasBsonType('Binary')],
  ['undefined', 6, () => false],
  ['objectId', 7, hasBsonType('ObjectId')],
  ['bool', 8, (value) => typeof value === 'boolean'],
  ['date', 9, (value) => value instanceof Date],
  ['null', 10, (value) => value === null],
  ['regex', 11, hasBsonType('BSONRegExp')],
  ['dbPointer', 12, () => false],
  ['javascript', 13, (value) => hasBsonType('Code')(value) && (value as Code).scope === null],
  ['symbol', 14, hasBsonType('BSONSymbol')],
  ['javascriptWithScope', 15, (value) => hasBsonType('Code')(value) && (value as Code).scope !== null],
  ['int', 16, hasBsonType('Int32')],
  ['timestamp', 17, hasBsonType('Timestamp')],
  ['long', 18, hasBsonType('Long')],
  ['decimal', 19, hasBsonType('Decimal128')],
  ['minKey', -1, hasBsonType('MinKey')],
  ['maxKey', 127, hasBsonType('MaxKey')],
]

/** @throws 2 for an unknown type, 9 for an empty list, 14 for an operand that is not a type */
export const typePredicate = (operand: unknown): Test => {
  if (Array.isArray(operand) && operand.length === 0) fail(9, '$type must match at least one type')
  const tests = (Array.isArray(operand) ? operand : [operand]).map((type) => {
    if (type === 'number') return isNumeric
    if (typeof type !== 'string' && !isNumeric(type))
      fail(14, 'type must be represented as a number or a string')
    const row = types.find(([name, number]) => (isNumeric(type) ? number === toNumber(type) : name === type))
    return row ? row[2] : fail(2, `Unknown type name alias: ${String(type)}`)
  })
  return (value) => tests.some((test) => test(value))
}

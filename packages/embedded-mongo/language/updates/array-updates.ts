/** The update operators that change arrays. */
import type { Document } from 'bson'
import { type Collation, compare, equal, ValueSet } from '../../values/compare.ts'
import { fail } from '../../values/errors.ts'
import { bsonType, clone, isNumeric, isObject, toNumber } from '../../values/values.ts'
import { isRegex } from '../expressions/regex.ts'
import { elementTest, isOperators, type Predicate } from '../filters/matcher.ts'
import { sorted } from '../results/sort.ts'

type ArrayUpdate = (current: unknown, operand: unknown, path: string, collation?: Collation) => unknown

const typeName = (value: unknown): string =>
  bsonType(value)?.toLowerCase() ?? (value === null ? 'null' : typeof value)

const arrayAt = (value: unknown, path: string): unknown[] => {
  if (value === undefined) return []
  if (!Array.isArray(value))
    return fail(2, `The field '${path}' must be an array but is of type ${typeName(value)}`)
  return value
}

const eachOf = (operand: unknown, name: string): unknown[] => {
  if (!isObject(operand) || !('$each' in operand)) return [operand]
  if (!Array.isArray(operand.$each)) return fail(2, `The argument to $each in ${name} must be an array`)
  return operand.$each
}

export const push: ArrayUpdate = (current, operand, path, collation) => {
  const array = [...arrayAt(current, path)]
  const added = eachOf(operand, '$push').map(clone)
  if (!isObject(operand) || !('$each' in operand)) return [...array, ...added]
  for (const name of Object.keys(operand))
    if (!['$each', '$slice', '$sort', '$position'].includes(name))
      fail(2, `Unrecognized clause in $push: ${name}`)
  const { $position, $sort, $slice } = operand
  array.splice($position === undefined ? array.length : whole($position, '$position'), 0, ...added)
  const ordered = $sort === undefined ? array : sortedArray(array, $sort, collation)
  return $slice === undefined ? ordered : sliced(ordered, whole($slice, '$slice'))
}

const whole = (value: unknown, name: string): number =>
  isNumeric(value) && Number.isInteger(toNumber(value))
    ? toNumber(value)
    : fail(2, `The value for ${name} must be an integer value`)

const sliced = (array: unknown[], count: number): unknown[] =>
  count < 0 ? array.slice(count) : array.slice(0, count)

const sortedArray = (array: unknown[], spec: unknown, collation?: Collation): unknown[] => {
  if (!isNumeric(spec)) {
    if (isObject(spec) && Object.keys(spec).length > 0) return sorted(array as Document[], spec, collation)
    return fail(
      2,
      'The $sort is invalid: use 1/-1 to sort the whole element, or {field:1/-1} to sort embedded fields',
    )
  }
  const sign = toNumber(spec)
  if (sign !== 1 && sign !== -1) fail(2, 'The $sort element value must be either 1 or -1')
  return array.sort((a, b) => compare(a, b, collation) * sign)
}

export const addToSet: ArrayUpdate = (current, operand, path, collation) => {
  const array = [...arrayAt(current, path)]
  if (isObject(operand) && '$each' in operand)
    for (const name of Object.keys(operand))
      if (name !== '$each') fail(2, `Found unexpected fields after $each in $addToSet: ${name}`)
  const present = new ValueSet(array, collation)
  for (const value of eachOf(operand, '$addToSet')) if (present.add(value)) array.push(clone(value))
  return array
}

export const pop: ArrayUpdate = (current, operand, path) => {
  const end = isNumeric(operand) ? toNumber(operand) : 0
  if (end !== 1 && end !== -1) fail(9, '$pop expects 1 or -1')
  if (current === undefined) return undefined
  if (!Array.isArray(current))
    return fail(14, `Path '${path}' contains an element of non-array type '${typeName(current)}'`)
  return end === 1 ? current.slice(0, -1) : current.slice(1)
}

export const pull: ArrayUpdate = (current, operand, path, collation) => {
  if (current === undefined) return undefined
  if (!Array.isArray(current)) return fail(2, `Cannot apply $pull to a non-array value at '${path}'`)
  const test = pullTest(operand, collation)
  return current.filter((element) => !test(element))
}

const pullTest = (operand: unknown, collation?: Collation): Predicate => {
  if (isRegex(operand)) return (element) => elementTest({ $regex: operand }, {})(element)
  if (!isObject(operand)) return (element) => equal(element, operand, collation)
  if (isOperators(operand)) return elementTest(operand, { collation })
  const test = elementTest(operand, { collation })
  return (element) => isObject(element) && test(element)
}

export const pullAll: ArrayUpdate = (current, operand, path, collation) => {
  if (!Array.isArray(operand))
    return fail(2, `$pullAll requires an array argument but was given a ${typeName(operand)}`)
  if (current === undefined) return undefined
  if (!Array.isArray(current)) return fail(2, `Cannot apply $pullAll to a non-array value at '${path}'`)
  const pulled = new ValueSet(operand, collation)
  return current.filter((element) => !pulled.has(element))
}

/** The update operators that change arrays. */
import type { Document } from 'bson'
import { bsonType, clone, isNumeric, isObject, toNumber } from '../../values/bson-values.ts'
import { type Collation, compare, isEqual, ValueSet } from '../../values/compare.ts'
import { fail } from '../../values/errors.ts'
import { isRegex } from '../expressions/regex.ts'
import { compileFilter, type DocumentTest, isOperators } from '../filters/matcher.ts'
import { sortDocuments } from '../results/sort.ts'

/**
 * Returns the changed array; undefined: no change.
 * @throws for an invalid operand, before any document is read
 */
type ArrayUpdate = (operand: unknown, collation?: Collation) => (current: unknown, path: string) => unknown

const typeName = (value: unknown): string =>
  bsonType(value)?.toLowerCase() ?? (value === null ? 'null' : typeof value)

const arrayAt = (value: unknown, path: string): unknown[] => {
  if (value === undefined) return []
  if (!Array.isArray(value))
    return fail(2, `The field '${path}' must be an array but is of type ${typeName(value)}`)
  return value
}

/**
 * The elements that an operand adds, and its other clauses.
 * @throws for a clause that is not among the known ones
 */
const addition = (operand: unknown, name: string, allowedClauses: string[], wrongEach: number) => {
  if (!isObject(operand) || !('$each' in operand)) return { added: [operand], clauses: undefined }
  const { $each, ...clauses } = operand
  if (!Array.isArray($each)) return fail(wrongEach, `The argument to $each in ${name} must be an array`)
  for (const clause of Object.keys(clauses))
    if (!allowedClauses.includes(clause)) fail(2, `Unrecognized clause in ${name}: ${clause}`)
  return { added: $each, clauses }
}

export const push: ArrayUpdate = (operand, collation) => {
  const { added, clauses = {} } = addition(operand, '$push', ['$slice', '$sort', '$position'], 2)
  const position = clauses.$position === undefined ? undefined : integerOf(clauses.$position, '$position')
  const slice = clauses.$slice === undefined ? undefined : integerOf(clauses.$slice, '$slice')
  const order = clauses.$sort === undefined ? undefined : compileArraySort(clauses.$sort, collation)
  return (current, path) => {
    const array = [...arrayAt(current, path)]
    array.splice(position ?? array.length, 0, ...added.map(clone))
    const sortedArray = order ? order(array) : array
    return slice === undefined ? sortedArray : sliceArray(sortedArray, slice)
  }
}

const integerOf = (value: unknown, name: string): number =>
  isNumeric(value) && Number.isInteger(toNumber(value))
    ? toNumber(value)
    : fail(2, `The value for ${name} must be an integer value`)

const sliceArray = (array: unknown[], count: number): unknown[] =>
  count < 0 ? array.slice(count) : array.slice(0, count)

const direction = (value: unknown): number =>
  isNumeric(value) && Math.abs(toNumber(value)) === 1
    ? toNumber(value)
    : fail(2, 'The $sort element value must be either 1 or -1')

const compileArraySort = (spec: unknown, collation?: Collation): ((array: unknown[]) => unknown[]) => {
  if (isNumeric(spec)) {
    const sign = direction(spec)
    return (array) => array.sort((a, b) => compare(a, b, collation) * sign)
  }
  if (!isObject(spec) || Object.keys(spec).length === 0)
    return fail(
      2,
      'The $sort is invalid: use 1/-1 to sort the whole element, or {field:1/-1} to sort embedded fields',
    )
  for (const [field, value] of Object.entries(spec)) {
    direction(value)
    if (field.split('.').includes('')) fail(2, `The $sort field '${field}' contains an empty field name`)
  }
  return (array) => sortDocuments(array as Document[], spec, collation)
}

export const addToSet: ArrayUpdate = (operand, collation) => {
  const { added } = addition(operand, '$addToSet', [], 14)
  return (current, path) => {
    const array = [...arrayAt(current, path)]
    const present = new ValueSet(array, collation)
    for (const value of added) if (present.add(value)) array.push(clone(value))
    return array
  }
}

export const pop: ArrayUpdate = (operand) => {
  const end = isNumeric(operand) ? toNumber(operand) : 0
  if (end !== 1 && end !== -1) fail(9, '$pop expects 1 or -1')
  return (current, path) => {
    if (current === undefined) return undefined
    if (!Array.isArray(current))
      return fail(14, `Path '${path}' contains an element of non-array type '${typeName(current)}'`)
    return end === 1 ? current.slice(0, -1) : current.slice(1)
  }
}

const defineRemoval =
  (name: string, test: DocumentTest): ReturnType<ArrayUpdate> =>
  (current, path) => {
    if (current === undefined) return undefined
    if (!Array.isArray(current)) return fail(2, `Cannot apply ${name} to a non-array value at '${path}'`)
    return current.filter((element) => !test(element))
  }

export const pull: ArrayUpdate = (operand, collation) => defineRemoval('$pull', pullTest(operand, collation))

/** Tests each element like a field: for an element that is an array, also its own elements. */
const pullTest = (operand: unknown, collation?: Collation): DocumentTest => {
  if (isRegex(operand) || (isOperators(operand) && !isLogic(operand))) {
    const test = compileFilter({ element: operand }, { collation })
    return (element) => test({ element })
  }
  if (!isObject(operand)) return (element) => isEqual(element, operand, collation)
  const test = compileFilter(operand, { collation })
  return (element) => isObject(element) && test(element)
}

const isLogic = (operand: Document): boolean => /^\$(and|or|nor)$/.test(Object.keys(operand)[0] as string)

export const pullAll: ArrayUpdate = (operand, collation) => {
  if (!Array.isArray(operand))
    return fail(2, `$pullAll requires an array argument but was given a ${typeName(operand)}`)
  const pulledValues = new ValueSet(operand, collation)
  return defineRemoval('$pullAll', (element) => pulledValues.has(element))
}

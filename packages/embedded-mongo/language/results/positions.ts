/** The array element that a filter matched, which `$` means in projections and updates. */
import type { Document } from 'bson'
import { documentFields, getMember, isIndex, isObject } from '../../values/bson-values.ts'
import type { Collation } from '../../values/compare.ts'
import { isRegex } from '../expressions/regex.ts'
import { compileFilter, createElementTest, isOperators } from '../filters/matcher.ts'

interface Condition {
  path: string
  operator: string
  /** `{ [operator]: operand }` */
  test: Document
}

/** The order in which MongoDB evaluates the conditions of a filter; other operators come last. */
const order = '$elemMatch $eq $lte $lt $gt $gte $regex $mod $in'.split(' ')
const rank = ({ operator }: Condition): number =>
  (order.indexOf(operator) + order.length + 1) % (order.length + 1)

/** Conditions that no element fulfils, and conditions on the array as a whole. */
const OPERATORS_WITHOUT_ELEMENT = new Set(['$ne', '$nin', '$not', '$options', '$comment'])
const OPERATORS_OF_ARRAYS = new Set(['$exists', '$size'])

/**
 * The position of the element, in any array, that fulfilled the last of the filter's conditions in MongoDB's
 * order; -1: no array element did.
 */
export const matchedPosition = (document: Document, filter: Document, collation?: Collation): number =>
  conditions(filter)
    .sort((a, b) => rank(a) - rank(b) || (a.path < b.path ? -1 : Number(a.path > b.path)))
    .map((condition) => positionOf(document, condition, collation))
    .findLast((position) => position >= 0) ?? -1

const conditions = (filter: Document): Condition[] =>
  Object.entries(documentFields(filter)).flatMap(([key, value]) => {
    if (key === '$and' && Array.isArray(value)) return value.flatMap(conditions)
    if (key === '$or' && Array.isArray(value)) return alternatives(value.map(conditions))
    return key.startsWith('$') ? [] : conditionsOn(key, value)
  })

/** Alternatives determine no element, unless there is only one, or they are values of one field. */
const alternatives = (branches: Condition[][]): Condition[] => {
  if (branches.length === 1) return branches[0] as Condition[]
  const [path] = branches.map(([first]) => first?.path)
  const values = branches.flatMap((branch) => {
    const [{ path: own, operator, test } = {} as Condition] = branch
    return branch.length === 1 && own === path && operator === '$eq' ? [test.$eq] : []
  })
  if (path === undefined || values.length < branches.length) return []
  return [{ path, operator: '$in', test: { $in: values } }]
}

const conditionsOn = (path: string, value: unknown): Condition[] => {
  const condition = (operator: string, test: Document): Condition => ({ path, operator, test })
  if (isRegex(value)) return [condition('$regex', { $regex: value })]
  if (!isOperators(value)) return [condition('$eq', { $eq: value })]
  return Object.entries(value).flatMap(([operator, operand]) => {
    if (OPERATORS_WITHOUT_ELEMENT.has(operator)) return []
    if (operator === '$all' && Array.isArray(operand))
      return operand.flatMap((one) =>
        conditionsOn(path, isOperators(one) || isRegex(one) ? one : { $eq: one }),
      )
    const { $options } = value
    const options = operator === '$regex' && $options !== undefined ? { $options } : {}
    return [condition(operator, { [operator]: operand, ...options })]
  })
}

const positionOf = (
  document: Document,
  { path, operator, test }: Condition,
  collation?: Collation,
): number => {
  let value: unknown = document
  const parts = path.split('.')
  for (;;) {
    if (Array.isArray(value) && !isIndex(parts[0] ?? '')) break
    const part = parts.shift()
    if (part === undefined) return -1
    value = Array.isArray(value) ? value[Number(part)] : getMember(value, part)
  }
  const options = { collation }
  if (parts.length > 0) {
    const below = compileFilter({ [parts.join('.')]: test }, options)
    return value.findIndex((element) => isObject(element) && below(element))
  }
  if (OPERATORS_OF_ARRAYS.has(operator)) return -1
  return value.findIndex(createElementTest(operator === '$elemMatch' ? test.$elemMatch : test, options))
}

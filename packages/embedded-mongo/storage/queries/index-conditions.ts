/** The conditions of a filter on single fields, as far as an index can use them. */
import type { Document } from 'bson'
import { isRegex, literalPrefix } from '../../language/expressions/regex.ts'
import { compileFilter, isOperators } from '../../language/filters/matcher.ts'
import { isNullish, isObject, isTruthy, rootFieldOf } from '../../values/bson-values.ts'
import { type Collation, compare, typeOrder } from '../../values/compare.ts'

/** A condition: an operator and its operand. A document must meet all conditions of a filter. */
export interface IndexCondition {
  operator: '$eq' | '$in' | '$gt' | '$gte' | '$lt' | '$lte' | '$exists' | 'prefix' | 'element' | 'fields'
  /** Of `fields`: `ElementConditions`. */
  operand: unknown
}

/** The conditions on the fields of one element of an array. */
export interface ElementConditions {
  conditions: ConditionsByField
  /** There are no other conditions on the element. */
  isComplete: boolean
}

export type ConditionsByField = Map<string, IndexCondition[]>

const USABLE_OPERATORS = new Set(['$eq', '$in', '$gt', '$gte', '$lt', '$lte', '$exists'])

/** Collects the conditions of a filter's conjunction; alternatives and negations are left to the matcher. */
export const collectConditions = (
  filter: Document,
  conditions: ConditionsByField = new Map(),
): ConditionsByField => {
  for (const [key, value] of Object.entries(filter)) {
    if (key === '$and' && Array.isArray(value))
      for (const inner of value) collectConditions(inner, conditions)
    if (key.startsWith('$')) continue
    const fieldConditions = conditionsOf(value)
    if (fieldConditions.length > 0) conditions.set(key, [...(conditions.get(key) ?? []), ...fieldConditions])
  }
  return conditions
}

const conditionsOf = (value: unknown): IndexCondition[] => {
  if (isRegex(value)) return prefixConditions(value.pattern, value.options)
  if (!isOperators(value)) return [{ operator: '$eq', operand: value }]
  return Object.entries(value).flatMap(([operator, operand]): IndexCondition[] => {
    if (operator === '$regex') return regexConditions(operand, value.$options)
    if (operator === '$elemMatch') return elementConditions(operand)
    if (!USABLE_OPERATORS.has(operator)) return []
    if (operator === '$in') return inConditions(operand)
    return [{ operator: operator as IndexCondition['operator'], operand }]
  })
}

const regexConditions = (operand: unknown, options: unknown): IndexCondition[] => {
  const pattern = isRegex(operand) ? operand.pattern : operand
  const flags = options ?? (isRegex(operand) ? operand.options : '')
  return typeof pattern === 'string' ? prefixConditions(pattern, String(flags)) : []
}

const prefixConditions = (pattern: string, options: string): IndexCondition[] => {
  const prefix = literalPrefix(pattern, options)
  return prefix === '' ? [] : [{ operator: 'prefix', operand: prefix }]
}

/** One element lies between both bounds, which must have the same type; or its fields meet the conditions. */
const elementConditions = (operand: unknown): IndexCondition[] => {
  if (isObject(operand) && !isOperators(operand)) {
    const conditions = collectConditions(operand)
    const isComplete = countConditions(conditions) === countClauses(operand)
    return [{ operator: 'fields', operand: { conditions, isComplete } satisfies ElementConditions }]
  }
  const bounds = isOperators(operand) ? conditionsOf(operand) : []
  const lower = bounds.find(({ operator }) => operator === '$gt' || operator === '$gte')
  const upper = bounds.find(({ operator }) => operator === '$lt' || operator === '$lte')
  const isRange = lower && upper && typeOrder(lower.operand) === typeOrder(upper.operand)
  return isRange ? [{ operator: 'element', operand: { lower, upper } }] : []
}

const inConditions = (operand: unknown): IndexCondition[] =>
  Array.isArray(operand) && !operand.some(isRegex) ? [{ operator: '$in', operand }] : []

/** Whether no document in which the field is missing or null can meet the condition. */
export const excludesNull = ({ operator, operand }: IndexCondition): boolean => {
  switch (operator) {
    case '$in':
      return (operand as unknown[]).every((value) => !isNullish(value))
    case '$exists':
    case 'prefix':
    case 'element':
    case 'fields':
      return operator !== '$exists'
    default:
      return !isNullish(operand) && !isExtreme(operand)
  }
}

const isExtreme = (value: unknown): boolean => typeOrder(value) === 1 || typeOrder(value) === 127

/**
 * Whether every document that meets `conditions` under `collation` also passes a partial index's filter.
 */
export const impliesFilter = (
  conditions: ConditionsByField,
  partial: Document,
  collation: Collation | undefined,
): boolean => {
  const required = collectConditions(partial)
  if (collation && [...required.values()].flat().some(({ operand }) => hasText(operand))) return false
  if (countConditions(required) !== countClauses(partial)) return false
  return [...required].every(([field, list]) =>
    list.every((one) => (conditions.get(field) ?? []).some((condition) => covers(condition, one))),
  )
}

export const countConditions = (conditions: ConditionsByField): number =>
  [...conditions.values()].reduce((sum, list) => sum + list.length, 0)

/** The number of conditions in a filter; exceeds the conditions if an index cannot use some of them. */
export const countClauses = (filter: Document): number =>
  Object.entries(filter).reduce((sum, [key, value]) => {
    if (key === '$and' && Array.isArray(value))
      return sum + value.reduce((inner, part) => inner + countClauses(part), 0)
    return sum + (isOperators(value) ? Object.keys(value).length : 1)
  }, 0)

/** Whether meeting `condition` guarantees meeting `required`. */
export const covers = (condition: IndexCondition, required: IndexCondition): boolean => {
  if (required.operator === '$exists')
    return condition.operator === '$exists'
      ? isTruthy(condition.operand) === isTruthy(required.operand)
      : isTruthy(required.operand) && excludesNull(condition)
  const values =
    condition.operator === '$eq'
      ? [condition.operand]
      : condition.operator === '$in'
        ? (condition.operand as unknown[])
        : []
  if (values.length > 0) {
    const test = compileFilter({ value: { [required.operator]: required.operand } })
    return required.operator !== 'prefix' && values.every((value) => !Array.isArray(value) && test({ value }))
  }
  if ([condition, required].some(({ operator }) => operator === 'element' || operator === 'fields'))
    return false
  if (condition.operator.slice(0, 3) !== required.operator.slice(0, 3) || condition.operator === '$in')
    return false
  if (condition.operator === 'prefix') return condition.operand === required.operand
  if (typeOrder(condition.operand) !== typeOrder(required.operand)) return false
  const order = compare(condition.operand, required.operand) * (condition.operator.startsWith('$g') ? 1 : -1)
  return (
    order > 0 ||
    (order === 0 && (required.operator.endsWith('e') || condition.operator === required.operator))
  )
}

/** Whether the operand contains strings. Only their place in an index depends on its collation. */
export const hasText = (operand: unknown): boolean =>
  typeof operand === 'string' ||
  (Array.isArray(operand) && operand.some(hasText)) ||
  (isObject(operand) && Object.values(operand).some(hasText))

/** The top-level fields that a filter reads; undefined: perhaps all. */
export const rootFieldsOf = (filter: Document): string[] | undefined => {
  const roots: string[] = []
  for (const [key, value] of Object.entries(filter)) {
    if (key === '$and' || key === '$or' || key === '$nor') {
      for (const inner of value as Document[]) {
        const innerRoots = rootFieldsOf(inner)
        if (!innerRoots) return undefined
        roots.push(...innerRoots)
      }
    } else if (!key.startsWith('$')) roots.push(rootFieldOf(key))
    else if (key !== '$comment') return undefined
  }
  return roots
}

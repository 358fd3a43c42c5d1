/** The conditions of a filter on single fields, as far as an index can use them. */
import type { Document } from 'bson'
import { isRegex, literalPrefix } from '../../language/expressions/regex.ts'
import { compileFilter, isOperators } from '../../language/filters/matcher.ts'
import { isNullish, isObject, truthy } from '../../values/bson-values.ts'
import { type Collation, compare, typeOrder } from '../../values/compare.ts'

/** A condition: an operator and its operand. A document must meet all conditions of a filter. */
export interface Demand {
  operator: '$eq' | '$in' | '$gt' | '$gte' | '$lt' | '$lte' | '$exists' | 'prefix' | 'element'
  operand: unknown
}

export type Demands = Map<string, Demand[]>

const usable = new Set(['$eq', '$in', '$gt', '$gte', '$lt', '$lte', '$exists'])

/** Collects the conditions of a filter's conjunction; alternatives and negations are left to the matcher. */
export const demandsOf = (filter: Document, demands: Demands = new Map()): Demands => {
  for (const [key, value] of Object.entries(filter)) {
    if (key === '$and' && Array.isArray(value)) for (const inner of value) demandsOf(inner, demands)
    if (key.startsWith('$')) continue
    const found = fieldDemands(value)
    if (found.length > 0) demands.set(key, [...(demands.get(key) ?? []), ...found])
  }
  return demands
}

const fieldDemands = (value: unknown): Demand[] => {
  if (isRegex(value)) return prefixDemand(value.pattern, value.options)
  if (!isOperators(value)) return [{ operator: '$eq', operand: value }]
  return Object.entries(value).flatMap(([operator, operand]): Demand[] => {
    if (operator === '$regex') return regexDemand(operand, value.$options)
    if (operator === '$elemMatch') return elementDemand(operand)
    if (!usable.has(operator)) return []
    if (operator === '$in') return inDemand(operand)
    return [{ operator: operator as Demand['operator'], operand }]
  })
}

const regexDemand = (operand: unknown, options: unknown): Demand[] => {
  const pattern = isRegex(operand) ? operand.pattern : operand
  const flags = options ?? (isRegex(operand) ? operand.options : '')
  return typeof pattern === 'string' ? prefixDemand(pattern, String(flags)) : []
}

const prefixDemand = (pattern: string, options: string): Demand[] => {
  const prefix = literalPrefix(pattern, options)
  return prefix === '' ? [] : [{ operator: 'prefix', operand: prefix }]
}

/** One element lies between both bounds, which must have the same type. */
const elementDemand = (operand: unknown): Demand[] => {
  const bounds = isOperators(operand) ? fieldDemands(operand) : []
  const lower = bounds.find(({ operator }) => operator === '$gt' || operator === '$gte')
  const upper = bounds.find(({ operator }) => operator === '$lt' || operator === '$lte')
  const isRange = lower && upper && typeOrder(lower.operand) === typeOrder(upper.operand)
  return isRange ? [{ operator: 'element', operand: { lower, upper } }] : []
}

const inDemand = (operand: unknown): Demand[] =>
  Array.isArray(operand) && !operand.some(isRegex) ? [{ operator: '$in', operand }] : []

/** Returns true if no document in which the field is missing or null can meet the condition. */
export const excludesNull = ({ operator, operand }: Demand): boolean => {
  switch (operator) {
    case '$in':
      return (operand as unknown[]).every((value) => !isNullish(value))
    case '$exists':
    case 'prefix':
    case 'element':
      return operator !== '$exists'
    default:
      return !isNullish(operand) && !isExtreme(operand)
  }
}

const isExtreme = (value: unknown): boolean => typeOrder(value) === 1 || typeOrder(value) === 127

/**
 * Returns true if every document that meets `demands` under `collation` also passes a partial index's filter.
 */
export const implies = (demands: Demands, partial: Document, collation: Collation | undefined): boolean => {
  const wanted = demandsOf(partial)
  if (collation && [...wanted.values()].flat().some(({ operand }) => hasText(operand))) return false
  if (demandCount(wanted) !== clauseCount(partial)) return false
  return [...wanted].every(([field, list]) =>
    list.every((want) => (demands.get(field) ?? []).some((have) => covers(have, want))),
  )
}

export const demandCount = (demands: Demands): number =>
  [...demands.values()].reduce((sum, list) => sum + list.length, 0)

/** The number of conditions in a filter; exceeds the demands if an index cannot use some of them. */
export const clauseCount = (filter: Document): number =>
  Object.entries(filter).reduce((sum, [key, value]) => {
    if (key === '$and' && Array.isArray(value))
      return sum + value.reduce((inner, part) => inner + clauseCount(part), 0)
    return sum + (isOperators(value) ? Object.keys(value).length : 1)
  }, 0)

/** Returns true if meeting `have` guarantees meeting `want`. */
const covers = (have: Demand, want: Demand): boolean => {
  if (want.operator === '$exists')
    return have.operator === '$exists'
      ? truthy(have.operand) === truthy(want.operand)
      : truthy(want.operand) && excludesNull(have)
  const values =
    have.operator === '$eq' ? [have.operand] : have.operator === '$in' ? (have.operand as unknown[]) : []
  if (values.length > 0) {
    const test = compileFilter({ value: { [want.operator]: want.operand } })
    return want.operator !== 'prefix' && values.every((value) => !Array.isArray(value) && test({ value }))
  }
  if (have.operator === 'element' || want.operator === 'element') return false
  if (have.operator.slice(0, 3) !== want.operator.slice(0, 3) || have.operator === '$in') return false
  if (have.operator === 'prefix') return have.operand === want.operand
  if (typeOrder(have.operand) !== typeOrder(want.operand)) return false
  const order = compare(have.operand, want.operand) * (have.operator.startsWith('$g') ? 1 : -1)
  return order > 0 || (order === 0 && (want.operator.endsWith('e') || have.operator === want.operator))
}

/** Whether the operand contains strings. Only their place in an index depends on its collation. */
export const hasText = (operand: unknown): boolean =>
  typeof operand === 'string' ||
  (Array.isArray(operand) && operand.some(hasText)) ||
  (isObject(operand) && Object.values(operand).some(hasText))

/** The top-level fields that a filter reads; undefined: perhaps all. */
export const rootsOf = (filter: Document): string[] | undefined => {
  const roots: string[] = []
  for (const [key, value] of Object.entries(filter)) {
    if (key === '$and' || key === '$or' || key === '$nor') {
      for (const inner of value as Document[]) {
        const found = rootsOf(inner)
        if (!found) return undefined
        roots.push(...found)
      }
    } else if (!key.startsWith('$')) roots.push(key.split('.', 1)[0] as string)
    else if (key !== '$comment') return undefined
  }
  return roots
}

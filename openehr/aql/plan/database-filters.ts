import type { Condition, Operand, Operator } from '../language/ast.ts'

/** A filter for MongoDB. */
export type DatabaseFilter = Record<string, unknown>

/** The filter that must hold if all of these must; undefined: no restriction. */
export function allOf(filters: readonly (DatabaseFilter | undefined)[]): DatabaseFilter | undefined {
  const restrictions = filters.filter((filter) => filter !== undefined)
  return restrictions.length > 1 ? { $and: restrictions } : restrictions[0]
}

/**
 * The filter that must hold if one of these must; undefined: no restriction, because one of them has none.
 */
export function anyOf(filters: readonly (DatabaseFilter | undefined)[]): DatabaseFilter | undefined {
  const restrictions = filters.filter((filter) => filter !== undefined)
  if (restrictions.length < filters.length || restrictions.length === 0) return undefined
  return restrictions.length > 1 ? { $or: restrictions } : restrictions[0]
}

/** The conditions of a filter that must all hold, each once. */
export function conditionsOf(filter: DatabaseFilter): DatabaseFilter[] {
  const conditions = Object.entries(filter).flatMap(([field, condition]) =>
    field === '$and' ? (condition as DatabaseFilter[]).flatMap(conditionsOf) : [{ [field]: condition }],
  )
  return [...new Map(conditions.map((one) => [JSON.stringify(one), one])).values()]
}

/** Joins the filters of the terms of an AND or OR. */
export const joinFilters = <T>(
  { kind, terms }: { kind: 'and' | 'or'; terms: readonly T[] },
  toFilter: (term: T) => DatabaseFilter | undefined,
): DatabaseFilter | undefined => (kind === 'and' ? allOf : anyOf)(terms.map(toFilter))

export const FLIPPED_OPERATORS: Readonly<Record<Operator, Operator>> = {
  '=': '=',
  '!=': '!=',
  '<': '>',
  '<=': '>=',
  '>': '<',
  '>=': '<=',
}

/**
 * @param comparisonFilter the filter for a comparison of an operand with one of several others; undefined: no
 * restriction
 */
export function conditionFilter(
  condition: Condition | undefined,
  comparisonFilter: (
    left: Operand,
    operator: Operator,
    rightOperands: readonly Operand[],
  ) => DatabaseFilter | undefined,
): DatabaseFilter | undefined {
  switch (condition?.kind) {
    case 'and':
    case 'or':
      return joinFilters(condition, (term) => conditionFilter(term, comparisonFilter))
    case 'comparison': {
      const { left, operator, right } = condition
      return (
        comparisonFilter(left, operator, [right]) ??
        comparisonFilter(right, FLIPPED_OPERATORS[operator], [left])
      )
    }
    case 'matches':
      return comparisonFilter(condition.left, '=', condition.values)
    default:
      return undefined
  }
}

/** Whether the filter only matches documents with certain values in this field. */
export function requiresField(filter: DatabaseFilter | undefined, field: string): boolean {
  if (filter === undefined) return false
  if (field in filter) return true
  return ((filter.$and as DatabaseFilter[] | undefined) ?? []).some((one) => requiresField(one, field))
}

/**
 * Translates a filter to other fields.
 * @param translate the translation of a condition on a field; true: always holds; false: never holds
 */
export function translateFilter(
  filter: DatabaseFilter,
  translate: (field: string, condition: unknown) => DatabaseFilter | boolean,
): DatabaseFilter | boolean {
  const parts = Object.entries(filter).map(([field, condition]) => {
    if (field === '$and')
      return allOfTranslated((condition as DatabaseFilter[]).map((one) => translateFilter(one, translate)))
    if (field === '$or')
      return anyOfTranslated((condition as DatabaseFilter[]).map((one) => translateFilter(one, translate)))
    return translate(field, condition)
  })
  return allOfTranslated(parts)
}

function allOfTranslated(parts: (DatabaseFilter | boolean)[]): DatabaseFilter | boolean {
  if (parts.includes(false)) return false
  return allOf(parts.filter((part) => typeof part === 'object')) ?? true
}

function anyOfTranslated(parts: (DatabaseFilter | boolean)[]): DatabaseFilter | boolean {
  if (parts.includes(true)) return true
  return anyOf(parts.filter((part) => typeof part === 'object')) ?? false
}

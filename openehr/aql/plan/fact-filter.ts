import type { Operand, Operator, QueryTree } from '../language/ast.ts'
import { anyOf, conditionFilter, type DatabaseFilter } from './database-filters.ts'
import { placeOfPath, type RequiredClasses, toFactRange } from './query-places.ts'

/**
 * The filter that WHERE implies for the facts of a composition, by place. It may match too many
 * compositions, never too few.
 */
export const createFactFilter = (
  where: QueryTree['where'],
  required: RequiredClasses,
): DatabaseFilter | undefined =>
  conditionFilter(where, (left, operator, rightOperands) =>
    anyOf(rightOperands.map((other) => comparisonFilter(left, operator, other, required))),
  )

/** The fact filter for a comparison of a path with a constant; undefined if facts cannot answer it. */
function comparisonFilter(
  left: Operand,
  operator: Operator,
  right: Operand,
  required: RequiredClasses,
): DatabaseFilter | undefined {
  const factPlace = placeOfPath(left, required)
  const range =
    factPlace && right.kind === 'literal' ? toFactRange(factPlace, operator, right.value) : undefined
  return factPlace && range && { [factPlace.place]: range }
}

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
  conditionFilter(where, (left, operator, others) =>
    anyOf(others.map((other) => comparisonFilter(left, operator, other, required))),
  )

/** The fact filter for a comparison of a path with a constant; undefined if facts cannot answer it. */
function comparisonFilter(
  left: Operand,
  operator: Operator,
  right: Operand,
  required: RequiredClasses,
): DatabaseFilter | undefined {
  const found = placeOfPath(left, required)
  const range = found && right.kind === 'literal' ? toFactRange(found, operator, right.value) : undefined
  return found && range && { [found.place]: range }
}

import type { Condition, Operand, Operator } from './language/ast.ts'

/** A condition of the database. */
export type Filter = Record<string, unknown>

/** What must be true for all of them; undefined: nothing is known. */
export function both(filters: readonly (Filter | undefined)[]): Filter | undefined {
  const known = filters.filter((filter) => filter !== undefined)
  return known.length > 1 ? { $and: known } : known[0]
}

/** What must be true for one of them; undefined: one may be true of anything. */
export function either(filters: readonly (Filter | undefined)[]): Filter | undefined {
  const known = filters.filter((filter) => filter !== undefined)
  if (known.length < filters.length || known.length === 0) return undefined
  return known.length > 1 ? { $or: known } : known[0]
}

/** What must be true for all terms of an AND, or for one of an OR. */
export const joined = <T>(
  { kind, terms }: { kind: 'and' | 'or'; terms: readonly T[] },
  of: (term: T) => Filter | undefined,
): Filter | undefined => (kind === 'and' ? both : either)(terms.map(of))

const TURNED: Readonly<Record<Operator, Operator>> = {
  ...{ '=': '=', '!=': '!=' },
  ...{ '<': '>', '<=': '>=', '>': '<', '>=': '<=' },
}

/** @param compared what must be true for an operand to compare so with one of some others; undefined: nothing is known */
export function conditionFilter(
  condition: Condition | undefined,
  compared: (left: Operand, operator: Operator, others: readonly Operand[]) => Filter | undefined,
): Filter | undefined {
  switch (condition?.kind) {
    case 'and':
    case 'or':
      return joined(condition, (term) => conditionFilter(term, compared))
    case 'comparison': {
      const { left, operator, right } = condition
      return compared(left, operator, [right]) ?? compared(right, TURNED[operator], [left])
    }
    case 'matches':
      return compared(condition.left, '=', condition.values)
    default:
      return undefined
  }
}

/** Whether nothing fits a filter that does not have one of some values in a field. */
export function demands(filter: Filter | undefined, field: string): boolean {
  if (filter === undefined) return false
  if (field in filter) return true
  return ((filter.$and as Filter[] | undefined) ?? []).some((one) => demands(one, field))
}

/**
 * A filter in other terms.
 * @param of what a condition on a field is in those; true: nothing needs to be asked; false: nothing fits
 */
export function retold(
  filter: Filter,
  of: (field: string, condition: unknown) => Filter | boolean,
): Filter | boolean {
  const parts = Object.entries(filter).map(([field, condition]) => {
    if (field === '$and') return every((condition as Filter[]).map((one) => retold(one, of)))
    if (field === '$or') return some((condition as Filter[]).map((one) => retold(one, of)))
    return of(field, condition)
  })
  return every(parts)
}

function every(parts: (Filter | boolean)[]): Filter | boolean {
  if (parts.includes(false)) return false
  return both(parts.filter((part) => typeof part === 'object')) ?? true
}

function some(parts: (Filter | boolean)[]): Filter | boolean {
  if (parts.includes(true)) return true
  return either(parts.filter((part) => typeof part === 'object')) ?? false
}

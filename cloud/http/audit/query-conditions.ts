type QueryFields = Record<string, unknown>

interface Condition {
  field: string
  operand: unknown
  /** Whether every result fulfils the condition: it is not inside `$or` or `$nor`. */
  required: boolean
}

/** Conditions of a query on fields, including those inside `$or`. */
export const flattenConditions = (where: QueryFields, required = true): Condition[] =>
  Object.entries(where).flatMap(([name, value]): Condition[] => {
    if (!['$or', '$and', '$nor'].includes(name)) return [{ field: name, operand: value, required }]
    return (value as QueryFields[]).flatMap((one) => flattenConditions(one, required && name === '$and'))
  })

/** Ids in a condition; empty if it does not compare ids. */
function idsInOperand(operand: unknown): string[] {
  const { $eq, $in } = (operand ?? {}) as QueryFields
  return [operand, $eq, $in].flat().filter((id) => typeof id === 'string')
}

/** Distinct ids that a query names in a field. `required`: only from conditions that every result fulfils. */
export function idsInQuery(where: QueryFields, field: string, required = false): string[] {
  const conditions = flattenConditions(where).filter(
    (one) => one.field === field && (one.required || !required),
  )
  return [...new Set(conditions.flatMap(({ operand }) => idsInOperand(operand)))]
}

/** Fields that identify the EHR of an object, directly or by its parent. */
export const PARENT_FIELDS = ['ehrId', 'carePlanId', 'goalId'] as const

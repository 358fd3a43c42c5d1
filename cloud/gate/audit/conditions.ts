type Fields = Record<string, unknown>

interface Condition {
  field: string
  operand: unknown
  /** Whatever is found fulfils it: it stands in no `$or` and no `$nor`. */
  required: boolean
}

/** The conditions of a query on fields, also those that stand beside others in an `$or`. */
export const conditionsIn = (where: Fields, required = true): Condition[] =>
  Object.entries(where).flatMap(([name, value]): Condition[] => {
    if (!['$or', '$and', '$nor'].includes(name)) return [{ field: name, operand: value, required }]
    return (value as Fields[]).flatMap((one) => conditionsIn(one, required && name === '$and'))
  })

/** The ids that a condition names; none when it asks otherwise than by id. */
function idsIn(operand: unknown): string[] {
  const { $eq, $in } = (operand ?? {}) as Fields
  return [operand, $eq, $in].flat().filter((id) => typeof id === 'string')
}

/** The ids that a query names in a field, each once; `required`: only those one of which whatever is found has. */
export function idsNamed(where: Fields, field: string, required = false): string[] {
  const conditions = conditionsIn(where).filter((one) => one.field === field && (one.required || !required))
  return [...new Set(conditions.flatMap(({ operand }) => idsIn(operand)))]
}

/** What names the EHR that an object belongs to, by itself or by what it lies in. */
export const PLACES = ['ehrId', 'carePlanId', 'goalId'] as const

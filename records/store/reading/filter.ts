import type { ParseFormat, SavedRecord } from '../documents/parse-format.ts'

type Scalar = string | number | boolean

/** For an array field the type of its elements, otherwise the type of the field. */
type SearchedValue<V> = NonNullable<V> extends readonly (infer E)[] ? E : NonNullable<V>

/**
 * `from` and `upTo` are inclusive, `to` and `after` exclusive.
 * `checked`: equality that the query planner should not use for an index, because other conditions imply it.
 * `starting`: for each of these prefixes, some word of the list starts with it. An empty list matches nothing.
 * `notStarting`: no word of the list starts with this prefix.
 */
type FieldCondition<V> =
  | V
  | { in: readonly V[] }
  | { not: V }
  | { notIn: readonly V[] }
  | { checked: V }
  | { exists: boolean }
  | { from?: V | undefined; to?: V | undefined; after?: V | undefined; upTo?: V | undefined }
  | { starting: readonly string[] }
  | { notStarting: string }

/** Conditions of a list on fields of the schema, with values in API form. undefined: no condition. */
export type Where<T> = {
  [K in keyof SavedRecord<T> as SearchedValue<SavedRecord<T>[K]> extends Scalar ? K : never]?:
    | FieldCondition<SearchedValue<SavedRecord<T>[K]>>
    | null
    | undefined
}

/** Conditions that a record must meet besides: of each group at least one. */
export interface Alternatives<T> {
  allOf?: readonly (readonly Where<T>[])[] | undefined
}

const MONGO_OPERATORS = {
  in: '$in',
  notIn: '$nin',
  not: '$ne',
  from: '$gte',
  after: '$gt',
  to: '$lt',
  upTo: '$lte',
  exists: '$exists',
} as const

/** Accepts only scalars, so no operator of a client reaches the database. @throws TypeError for any other value */
export function toMongoFilter<T>(
  format: ParseFormat<T>,
  { allOf, ...where }: Where<T> & Alternatives<T>,
): Record<string, unknown> {
  const query: Record<string, unknown> = {}
  if (allOf && allOf.length > 0)
    query.$and = allOf.map((group) => ({ $or: group.map((one) => toMongoFilter(format, one)) }))
  for (const [name, condition] of definedEntries(where)) {
    const { key, store } = format.field(name)
    const value = (operand: unknown): unknown => store(requireScalar(name, operand))
    if (isOperation(condition) && 'checked' in condition) {
      // MongoDB's planner derives no index bounds from $nor.
      query.$nor = [...((query.$nor as object[]) ?? []), { [key]: { $ne: value(condition.checked) } }]
      continue
    }
    const operators = isOperation(condition) ? toMongoOperators(condition, value) : { $eq: value(condition) }
    if (Object.keys(operators).length > 0) query[key] = operators
  }
  return query
}

/** Describes a query without its values, for the audit: 'ehrId status timestamp:from,to'. */
export function describeWhere({ allOf = [], ...where }: Alternatives<never>): string {
  return [where as object, ...allOf.flat()]
    .flatMap(definedEntries)
    .flatMap(([name, condition]) => {
      if (!isOperation(condition)) return [name]
      const operators = definedEntries(condition).map(([operator]) => operator)
      return operators.length > 0 ? [`${name}:${operators}`] : []
    })
    .join(' ')
}

const definedEntries = (conditions: object): [string, unknown][] =>
  Object.entries(conditions).filter(([, condition]) => condition !== undefined)

const isOperation = (condition: unknown): condition is Record<string, unknown> =>
  typeof condition === 'object' && condition !== null

function toMongoOperators(
  condition: Record<string, unknown>,
  value: (operand: unknown) => unknown,
): Record<string, unknown> {
  const query: Record<string, unknown> = {}
  for (const [name, operand] of definedEntries(condition)) {
    if (name === 'starting') return wordPrefixCondition(operand as string[])
    if (name === 'notStarting') return { $not: startingWord(operand as string) }
    if (!Object.hasOwn(MONGO_OPERATORS, name)) throw new TypeError(`A list cannot be filtered by ${name}.`)
    const convert = name === 'exists' ? Boolean : value
    query[MONGO_OPERATORS[name as keyof typeof MONGO_OPERATORS]] = Array.isArray(operand)
      ? operand.map(convert)
      : convert(operand)
  }
  return query
}

/** Sorts after every text with the same prefix. */
export const LAST_CODE_POINT = '\u{10ffff}'

/** Uses bounds instead of a regular expression, so that no character needs escaping. */
const startingWord = (prefix: string) => ({
  $elemMatch: { $gte: prefix, $lt: `${prefix}${LAST_CODE_POINT}` },
})

const wordPrefixCondition = (words: readonly string[]): Record<string, unknown> =>
  words.length === 0 ? { $in: [] } : { $all: words.map(startingWord) }

function requireScalar(name: string, operand: unknown): unknown {
  if (operand === null || ['string', 'number', 'boolean'].includes(typeof operand)) return operand
  throw new TypeError(`${name} can only be compared with text, numbers, booleans and null.`)
}

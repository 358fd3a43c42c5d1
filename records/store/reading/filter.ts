import type { ParseFormat, Saved } from '../documents/parse-format.ts'

type Scalar = string | number | boolean

/** Of an array field one element is looked for; everything else as it is. */
type Searched<V> = NonNullable<V> extends readonly (infer E)[] ? E : NonNullable<V>

/**
 * `from` is inclusive, `to` exclusive; `checked`: the value itself, for which no planner is to look for an index, since what
 * else is asked implies it; `starting`: of a list of words some begin with each of these, of which there are any.
 */
type Condition<V> =
  | V
  | { in: readonly V[] }
  | { not: V }
  | { checked: V }
  | { exists: boolean }
  | { from?: V | undefined; to?: V | undefined }
  | { starting: readonly string[] }

/** What a list may ask: conditions on fields of the schema, in the form the families use. undefined asks nothing. */
export type Where<T> = {
  [K in keyof Saved<T> as Searched<Saved<T>[K]> extends Scalar ? K : never]?:
    | Condition<Searched<Saved<T>[K]>>
    | null
    | undefined
}

const OPERATORS = { in: '$in', not: '$ne', from: '$gte', to: '$lt', exists: '$exists' } as const

/** Builds the database's query; nothing but scalars reaches it. @throws TypeError for any other value. */
export function toQuery<T>(format: ParseFormat<T>, where: Where<T>): Record<string, unknown> {
  const query: Record<string, unknown> = {}
  for (const [name, condition] of Object.entries(where)) {
    if (condition === undefined) continue
    const { key, search } = format.field(name)
    const value = (operand: unknown): unknown => search(scalar(name, operand))
    if (isOperation(condition) && 'checked' in condition) {
      // What is ruled out demands nothing.
      query.$nor = [...((query.$nor as object[]) ?? []), { [key]: { $ne: value(condition.checked) } }]
      continue
    }
    const operators = isOperation(condition) ? operation(condition, value) : { $eq: value(condition) }
    if (Object.keys(operators).length > 0) query[key] = operators
  }
  return query
}

/** What was asked, without the values: 'ehrId status timestamp:from,to'. */
export function described(where: object): string {
  return given(where)
    .flatMap(([name, condition]) => {
      if (!isOperation(condition)) return [name]
      const operators = given(condition).map(([operator]) => operator)
      return operators.length > 0 ? [`${name}:${operators}`] : []
    })
    .join(' ')
}

const given = (conditions: object): [string, unknown][] =>
  Object.entries(conditions).filter(([, condition]) => condition !== undefined)

const isOperation = (condition: unknown): condition is Record<string, unknown> =>
  typeof condition === 'object' && condition !== null

function operation(
  condition: Record<string, unknown>,
  value: (operand: unknown) => unknown,
): Record<string, unknown> {
  const query: Record<string, unknown> = {}
  for (const [name, operand] of Object.entries(condition)) {
    if (operand === undefined) continue
    if (name === 'starting') return starting(operand as string[])
    if (!Object.hasOwn(OPERATORS, name)) throw new TypeError(`A list cannot ask ${name}.`)
    query[OPERATORS[name as keyof typeof OPERATORS]] = Array.isArray(operand)
      ? operand.map(value)
      : value(operand)
  }
  return query
}

/** Behind every text that begins in the same way. */
const LAST = '\u{10ffff}'

/** By bounds, no pattern: nothing in a word has a meaning of its own. */
const starting = (words: readonly string[]): Record<string, unknown> =>
  words.length === 0
    ? { $in: [] }
    : { $all: words.map((word) => ({ $elemMatch: { $gte: word, $lt: `${word}${LAST}` } })) }

function scalar(name: string, operand: unknown): unknown {
  if (operand === null || ['string', 'number', 'boolean'].includes(typeof operand)) return operand
  throw new TypeError(`${name} can only be compared with text, numbers, booleans and null.`)
}

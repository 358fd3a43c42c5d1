/** Aggregation expressions from mingo, with its sums and substrings put right. */
import type { Document } from 'bson'
import type { Context } from 'mingo/core'
import { fail } from '../../values/errors.ts'
import { isNullish, isNumeric, promote, toNumber } from '../../values/values.ts'
import { mingo } from './mingo.ts'
import { compileRegex, type Expression, type Found } from './regex.ts'

type Accumulate = (items: unknown[], expression: unknown, options: never) => unknown
/** The operand of an accumulator for every document of the group. */
const operands: Accumulate = (...given) => mingo().accumulators.$push(...(given as [never, never, never]))

const numbers = (...given: Parameters<Accumulate>): number[] =>
  (operands(...given) as unknown[]).filter(isNumeric).map(toNumber)
const total = (values: number[]): number => values.reduce((sum, value) => sum + value, 0)

// mingo's own leave out longs and decimals.
const $sum: Accumulate = (items, expression, options) =>
  typeof expression === 'number' ? items.length * expression : total(numbers(items, expression, options))
const $avg: Accumulate = (items, expression, options) => {
  const found = numbers(items, expression, options)
  return found.length === 0 ? null : total(found) / found.length
}

/** Counted in bytes of UTF-8; a negative length reaches to the end, which mingo refuses. */
const $substr = (document: unknown, expression: unknown, options: never): string => {
  const [text, start, length] = mingo().evalExpr(document, expression, options) as [unknown, number, number]
  const bytes = Buffer.from(String(text ?? ''))
  return bytes.toString('utf8', start, length < 0 ? undefined : start + length)
}

interface Search {
  text: string
  expression: Expression
}

/** mingo would run them on JavaScript's own, which can take for ever. */
const searching =
  <T>(name: string, nothing: T, search: (of: Search) => T) =>
  (document: unknown, operand: unknown, options: never): T => {
    const { input, regex, options: flags } = mingo().evalExpr(document, operand, options) as Document
    if (isNullish(input) || isNullish(regex)) return nothing
    if (typeof input !== 'string') return fail(51104, `${name} needs 'input' to be of type string`)
    if (!(regex instanceof RegExp) && typeof regex !== 'string')
      return fail(51105, `${name} needs 'regex' to be of type string or regex`)
    const [pattern, own] = typeof regex === 'string' ? [regex, ''] : [regex.source, regex.flags]
    return search({ text: input, expression: compileRegex(pattern, flags ?? own) })
  }

const shown = (text: string, { match, at, captures }: Found): Document => ({
  match,
  idx: [...text.slice(0, at)].length,
  captures,
})

const findAll = ({ text, expression }: Search): Document[] => {
  const all: Document[] = []
  for (let from = 0; from <= text.length; ) {
    const found = expression.find(text, from)
    if (!found) break
    all.push(shown(text, found))
    from = found.at + (found.match.length || 1)
  }
  return all
}

const $regexMatch = searching('$regexMatch', false, ({ text, expression }) => expression.test(text))
const $regexFind = searching<Document | null>('$regexFind', null, ({ text, expression }) => {
  const found = expression.find(text, 0)
  return found ? shown(text, found) : null
})
const $regexFindAll = searching('$regexFindAll', [] as Document[], findAll)

/** The operators that run no code of the caller's. */
export const operators = () => {
  const { $function, $accumulator, ...safe } = mingo().expressions as unknown as Record<string, unknown>
  return {
    accumulator: { ...mingo().accumulators, $sum, $avg },
    expression: { ...safe, $substr, $substrBytes: $substr, $regexMatch, $regexFind, $regexFindAll },
  } as unknown as NonNullable<Parameters<typeof Context.init>[0]>
}

export const settings = (context: Context, variables?: Document) => ({
  context,
  idKey: '_id',
  scriptEnabled: false,
  useStrictMode: true,
  failOnError: true,
  processingMode: 0,
  ...(variables && { variables: promote(variables) as Document }),
})

let context: Context | undefined

/** The value of an expression for one document. */
export const evaluate = (expression: unknown, document: Document, variables?: Document): unknown => {
  context ??= mingo().Context.init(operators())
  return mingo().evalExpr(promote(document), promote(expression), settings(context, variables))
}

/** Aggregation expressions from mingo, with its sums and substrings put right. */
import type { Document } from 'bson'
import { Context, evalExpr } from 'mingo/core'
import * as accumulators from 'mingo/operators/accumulator'
import * as expressions from 'mingo/operators/expression'
import { isNumeric, promote, toNumber } from './values.ts'

const {
  $function: _function,
  $accumulator: _accumulator,
  ...safeExpressions
} = expressions as unknown as Record<string, unknown>

type Accumulate = (items: unknown[], expression: unknown, options: never) => unknown
/** The operand of an accumulator for every document of the group. */
const operands = accumulators.$push as unknown as (...args: Parameters<Accumulate>) => unknown[]

const numbers = (values: unknown[]): number[] => values.filter(isNumeric).map(toNumber)
const total = (values: number[]): number => values.reduce((sum, value) => sum + value, 0)

// mingo's own leave out longs and decimals.
const $sum: Accumulate = (items, expression, options) =>
  typeof expression === 'number'
    ? items.length * expression
    : total(numbers(operands(items, expression, options)))
const $avg: Accumulate = (items, expression, options) => {
  const found = numbers(operands(items, expression, options))
  return found.length === 0 ? null : total(found) / found.length
}

/** Counted in bytes of UTF-8; a negative length reaches to the end, which mingo refuses. */
const $substr = (document: unknown, expression: unknown, options: never): string => {
  const [text, start, length] = evalExpr(document, expression, options) as [unknown, number, number]
  const bytes = Buffer.from(String(text ?? ''))
  return bytes.toString('utf8', start, length < 0 ? undefined : start + length)
}

/** The operators that run no code of the caller's. */
export const operators = {
  accumulator: { ...accumulators, $sum, $avg },
  expression: { ...safeExpressions, $substr, $substrBytes: $substr },
} as unknown as NonNullable<Parameters<typeof Context.init>[0]>

export const settings = (context: Context, variables?: Document) => ({
  context,
  idKey: '_id',
  scriptEnabled: false,
  useStrictMode: true,
  failOnError: true,
  processingMode: 0,
  ...(variables && { variables: promote(variables) as Document }),
})

const context = Context.init(operators)
const plain = settings(context)

/** The value of an expression for one document. */
export const evaluate = (expression: unknown, document: Document, variables?: Document): unknown =>
  evalExpr(promote(document), promote(expression), variables ? settings(context, variables) : plain)

/** Accumulators as expressions: over the elements of one array, or over their operands. */
import { Double } from 'bson'
import { bsonType, toNumber } from '../../../values/bson-values.ts'
import { accumulators } from '../accumulators.ts'
import type { ExpressionOperator } from '../expression.ts'
import { MANY_OPERANDS, withOperands } from './operands.ts'

const defineOverOperands = (name: string): ExpressionOperator =>
  withOperands(0, MANY_OPERANDS, (values, { collation }) => {
    const items = values.length === 1 && Array.isArray(values[0]) ? values[0] : values
    const accumulator = accumulators[name]?.(collation)
    // As an expression, $avg adds doubles.
    const isRough = (item: unknown) => name === '$avg' && bsonType(item) === 'Long'
    for (const item of items) accumulator?.add(isRough(item) ? new Double(toNumber(item)) : item)
    return accumulator?.value
  })

export const accumulatorExpressions: Record<string, ExpressionOperator> = Object.fromEntries(
  ['$sum', '$avg', '$min', '$max', '$stdDevPop', '$stdDevSamp'].map((name) => [
    name,
    defineOverOperands(name),
  ]),
)

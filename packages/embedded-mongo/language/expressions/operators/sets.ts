/** Operators that treat arrays as sets. */

import { isNullish } from '../../../values/bson-values.ts'
import { compare, ValueSet } from '../../../values/compare.ts'
import { fail } from '../../../values/errors.ts'
import type { ExpressionOperator } from '../expression.ts'
import { MANY_OPERANDS, typeName, withOperands } from './operands.ts'

const array = (value: unknown, code: number, name: string): unknown[] =>
  Array.isArray(value)
    ? value
    : fail(code, `All operands of ${name} must be arrays. One argument is of type: ${typeName(value)}`)

const $setUnion = withOperands(0, MANY_OPERANDS, (values, { collation }, name) => {
  const end = values.findIndex(isNullish)
  // Operands before the first null or missing one must still be arrays.
  const elements = (end < 0 ? values : values.slice(0, end)).flatMap((value) => array(value, 17043, name))
  if (end >= 0) return null
  return new ValueSet(elements, collation).values.sort((a, b) => compare(a, b, collation))
})

const $setIntersection = withOperands(0, MANY_OPERANDS, (values, { collation }, name) => {
  if (values.some(isNullish)) return null
  const [first = [], ...rest] = values.map((value) => array(value, 17047, name))
  const otherSets = rest.map((other) => new ValueSet(other, collation))
  return new ValueSet(first, collation).values
    .filter((value) => otherSets.every((other) => other.has(value)))
    .sort((a, b) => compare(a, b, collation))
})

const $setDifference = withOperands(2, 2, ([a, b], { collation }, name) => {
  if (isNullish(a) || isNullish(b)) return null
  const without = new ValueSet(array(b, 17049, name), collation)
  return new ValueSet(array(a, 17048, name), collation).values.filter((value) => !without.has(value))
})

const $setEquals: ExpressionOperator = (operand, compiler, name) =>
  Array.isArray(operand) && operand.length > 1
    ? equalSets(operand, compiler, name)
    : fail(17045, `${name} needs at least two arguments`)

const equalSets = withOperands(2, MANY_OPERANDS, (values, { collation }, name) => {
  const [first, ...rest] = values.map((value) => new ValueSet(array(value, 5887502, name), collation))
  return rest.every((other) => other.size === first?.size && other.values.every((value) => first.has(value)))
})

const $setIsSubset = withOperands(2, 2, ([a, b], { collation }, name) => {
  const part = array(a, 17046, name)
  const superset = new ValueSet(array(b, 17042, name), collation)
  return part.every((value) => superset.has(value))
})

export const sets: Record<string, ExpressionOperator> = {
  $setUnion,
  $setIntersection,
  $setDifference,
  $setEquals,
  $setIsSubset,
}

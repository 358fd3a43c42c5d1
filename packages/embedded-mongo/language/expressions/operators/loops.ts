/** Operators that evaluate an expression for each element of an array. */
import type { Document } from 'bson'
import { isNullish } from '../../../values/bson-values.ts'
import { fail } from '../../../values/errors.ts'
import { checkVariable, type ExpressionOperator } from '../expression.ts'
import { checkEvaluationTime, isTrue, toInt32, typeName, withNamedOperands } from './operands.ts'

/** The variable of the element: `as`, or `this`. */
const elementName = (operands: Document): string => {
  const name = 'as' in operands ? operands.as : 'this'
  return typeof name === 'string'
    ? checkVariable(name)
    : fail(9, `'as' must be a string, found ${typeName(name)}`)
}

const filterCodes = { object: 28646, unknown: 28647, missing: { input: 28648, cond: 28650 } }

const $filter: ExpressionOperator = (operand, compiler, name) => {
  const operands = withNamedOperands(operand, name, ['input', 'cond'], ['as', 'limit'], filterCodes)
  const variable = elementName(operands)
  const input = compiler.compile(operands.input)
  const test = compiler.with(variable).compile(operands.cond)
  const most = 'limit' in operands ? compiler.compile(operands.limit) : undefined
  return (scope) => {
    const array = input(scope)
    const limit = most ? filterLimit(most(scope)) : Number.POSITIVE_INFINITY
    if (isNullish(array)) return null
    if (!Array.isArray(array)) return fail(28651, `input to ${name} must be an array not ${typeName(array)}`)
    const elements: unknown[] = []
    for (const element of array) {
      if (elements.length >= limit) break
      checkEvaluationTime()
      const variables = { ...scope.variables, [variable]: element }
      if (isTrue(test({ root: scope.root, variables }))) elements.push(element)
    }
    return elements
  }
}

const filterLimit = (value: unknown): number => {
  if (isNullish(value)) return Number.POSITIVE_INFINITY
  const limit =
    toInt32(value) ?? fail(327391, '$filter: limit must be represented as a 32-bit integral value')
  return limit > 0 ? limit : fail(327392, '$filter: limit must be greater than 0')
}

const mapCodes = { object: 16878, unknown: 16879, missing: { input: 16880, in: 16882 } }

const $map: ExpressionOperator = (operand, compiler, name) => {
  const operands = withNamedOperands(operand, name, ['input', 'in'], ['as'], mapCodes)
  const variable = elementName(operands)
  const input = compiler.compile(operands.input)
  const body = compiler.with(variable).compile(operands.in)
  return (scope) => {
    const array = input(scope)
    if (isNullish(array)) return null
    if (!Array.isArray(array)) return fail(16883, `input to ${name} must be an array not ${typeName(array)}`)
    return array.map((element) => {
      checkEvaluationTime()
      return body({ root: scope.root, variables: { ...scope.variables, [variable]: element } }) ?? null
    })
  }
}

const reduceCodes = {
  object: 40075,
  unknown: 40076,
  missing: { input: 40077, initialValue: 40078, in: 40079 },
}

const $reduce: ExpressionOperator = (operand, compiler, name) => {
  const operands = withNamedOperands(operand, name, ['input', 'initialValue', 'in'], [], reduceCodes)
  const input = compiler.compile(operands.input)
  const initial = compiler.compile(operands.initialValue)
  const body = compiler.with('this', 'value').compile(operands.in)
  return (scope) => {
    const array = input(scope)
    if (isNullish(array)) return null
    if (!Array.isArray(array))
      return fail(40080, `${name} requires that 'input' be an array, found: ${typeName(array)}`)
    let value = initial(scope)
    for (const element of array) {
      checkEvaluationTime()
      value = body({ root: scope.root, variables: { ...scope.variables, this: element, value } })
    }
    return value
  }
}

export const loops: Record<string, ExpressionOperator> = { $filter, $map, $reduce }

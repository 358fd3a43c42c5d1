/** Comparisons, conditions and variables. */
import type { Document } from 'bson'
import { Int32 } from 'bson'
import { documentFields, isNullish, isObject } from '../../../values/bson-values.ts'
import { compare } from '../../../values/compare.ts'
import { fail } from '../../../values/errors.ts'
import { checkVariable, type Expression, type ExpressionOperator } from '../expression.ts'
import {
  compileNamedOperands,
  compileOperandList,
  isTrue,
  MANY_OPERANDS,
  withNamedOperands,
  withOneOperand,
  withOperands,
} from './operands.ts'

const defineComparison = (accept: (order: number) => unknown): ExpressionOperator =>
  withOperands(2, 2, ([a, b], { collation }) => accept(compare(a, b, collation)))

const $and: ExpressionOperator = (operand, compiler, name) => {
  const tests = compileOperandList(operand, compiler, name, 0, MANY_OPERANDS)
  return (scope) => tests.every((test) => isTrue(test(scope)))
}

const $or: ExpressionOperator = (operand, compiler, name) => {
  const tests = compileOperandList(operand, compiler, name, 0, MANY_OPERANDS)
  return (scope) => tests.some((test) => isTrue(test(scope)))
}

const missing = Object.fromEntries(['if', 'then', 'else'].map((part, i) => [part, 17080 + i]))
const condCodes = { object: 16020, unknown: 17083, missing }

const $cond: ExpressionOperator = (operand, compiler, name) => {
  const list = isObject(operand)
    ? Object.values(
        pick(withNamedOperands(operand, name, ['if', 'then', 'else'], [], condCodes), 'if', 'then', 'else'),
      )
    : operand
  const [test, then, otherwise] = compileOperandList(list, compiler, name, 3, 3) as [
    Expression,
    Expression,
    Expression,
  ]
  return (scope) => (isTrue(test(scope)) ? then : otherwise)(scope)
}

const pick = (operands: Document, ...names: string[]): Document =>
  Object.fromEntries(names.map((name) => [name, operands[name]]))

const $ifNull: ExpressionOperator = (operand, compiler, name) => {
  if (!Array.isArray(operand) || operand.length < 2) fail(1257300, `${name} needs at least two arguments`)
  const list = compileOperandList(operand, compiler, name, 2, MANY_OPERANDS)
  return (scope) => {
    let value: unknown
    for (const expression of list) {
      value = expression(scope)
      if (!isNullish(value)) return value
    }
    return value
  }
}

const $switch: ExpressionOperator = (operand, compiler) => {
  if (!isObject(operand)) return fail(40060, '$switch requires an object as an argument')
  for (const key of Object.keys(operand))
    if (key !== 'branches' && key !== 'default') fail(40067, `$switch found an unknown argument: ${key}`)
  const { branches = [], default: otherwise } = operand
  if (!Array.isArray(branches)) return fail(40061, "$switch expected an array for 'branches'")
  const compiledBranches = branches.map((branch): [Expression, Expression] => {
    if (!isObject(branch)) return fail(40062, '$switch expected each branch to be an object')
    for (const key of Object.keys(branch))
      if (key !== 'case' && key !== 'then')
        fail(40063, `$switch found an unknown argument to a branch: ${key}`)
    if (!('case' in branch)) fail(40064, "$switch requires each branch have a 'case' expression")
    if (!('then' in branch)) fail(40065, "$switch requires each branch have a 'then' expression.")
    return [compiler.compile(branch.case), compiler.compile(branch.then)]
  })
  if (compiledBranches.length === 0) fail(40068, '$switch requires at least one branch.')
  const last = 'default' in operand ? compiler.compile(otherwise) : undefined
  return (scope) => {
    for (const [test, then] of compiledBranches) if (isTrue(test(scope))) return then(scope)
    return last
      ? last(scope)
      : fail(40069, '$switch could not find a matching branch, and no default was specified.')
  }
}

const $let: ExpressionOperator = (operand, compiler) => {
  if (!isObject(operand)) return fail(16874, '$let only supports an object as its argument')
  for (const key of Object.keys(operand))
    if (key !== 'vars' && key !== 'in') fail(16875, `Unrecognized parameter to $let: ${key}`)
  if (!('vars' in operand)) fail(16876, "Missing 'vars' parameter to $let")
  if (!('in' in operand)) fail(16877, "Missing 'in' parameter to $let")
  if (!isObject(operand.vars))
    fail(Array.isArray(operand.vars) ? 9 : 10065, 'invalid parameter: expected an object (vars)')
  const variables = Object.entries(compileNamedOperands(documentFields(operand.vars), compiler))
  for (const [name] of variables) checkVariable(name)
  const body = compiler.with(...variables.map(([name]) => name)).compile(operand.in)
  return (scope) => {
    const values = Object.fromEntries(variables.map(([name, value]) => [name, value(scope)]))
    const root = 'CURRENT' in values ? values.CURRENT : scope.root
    return body({ root, variables: { ...scope.variables, ...values } })
  }
}

export const logic: Record<string, ExpressionOperator> = {
  $cmp: defineComparison((order) => new Int32(Math.sign(order))),
  $eq: defineComparison((order) => order === 0),
  $ne: defineComparison((order) => order !== 0),
  $gt: defineComparison((order) => order > 0),
  $gte: defineComparison((order) => order >= 0),
  $lt: defineComparison((order) => order < 0),
  $lte: defineComparison((order) => order <= 0),
  $and,
  $or,
  $not: withOneOperand((value) => !isTrue(value)),
  $cond,
  $ifNull,
  $switch,
  $let,
  $literal: (operand) => () => operand,
  $const: (operand) => () => operand,
}

/** Operators on objects. */
import type { Document } from 'bson'
import { documentFields, isNullish, isObject, setMember } from '../../../values/bson-values.ts'
import { fail } from '../../../values/errors.ts'
import type { ExpressionOperator } from '../expression.ts'
import { MANY_OPERANDS, typeName, withNamedOperands, withOneOperand, withOperands } from './operands.ts'

const $arrayToObject = withOneOperand((array, name) => {
  if (isNullish(array)) return null
  if (!Array.isArray(array)) return fail(40386, `${name} requires an array input, found: ${typeName(array)}`)
  const result: Document = {}
  const pairs = Array.isArray(array[0])
  for (const item of array) {
    const [key, value] = pairs ? asPair(item) : asKeyValue(item)
    setMember(result, key, value)
  }
  return result
})

const asPair = (item: unknown): [string, unknown] => {
  if (!Array.isArray(item))
    return fail(40396, `$arrayToObject requires a consistent input format. Found: ${typeName(item)}`)
  if (item.length !== 2) fail(40397, '$arrayToObject requires an array of size 2 arrays')
  if (typeof item[0] !== 'string')
    fail(40395, `$arrayToObject requires keys to be strings, found: ${typeName(item[0])}`)
  if (item[0].includes('\0')) fail(4940400, 'Key field cannot contain an embedded null byte')
  return [item[0], item[1]]
}

const asKeyValue = (item: unknown): [string, unknown] => {
  if (Array.isArray(item))
    return fail(40391, '$arrayToObject requires a consistent input format. Found: array')
  if (!isObject(item))
    return fail(40398, `Unrecognised input type format for $arrayToObject: ${typeName(item)}`)
  if (Object.keys(item).length !== 2) fail(40392, "$arrayToObject requires an object keys of 'k' and 'v'")
  if (!('k' in item && 'v' in item)) fail(40393, "$arrayToObject requires an object with keys 'k' and 'v'")
  if (typeof item.k !== 'string')
    fail(40394, `$arrayToObject requires an object with keys 'k' and 'v', where 'k' must be a string`)
  if (item.k.includes('\0')) fail(4940401, 'Key field cannot contain an embedded null byte')
  return [item.k, item.v]
}

const $objectToArray = withOneOperand((value, name) => {
  if (isNullish(value)) return null
  if (!isObject(value)) return fail(40390, `${name} requires a document input, found: ${typeName(value)}`)
  return Object.entries(documentFields(value)).map(([k, v]) => ({ k, v }))
})

const $mergeObjects = withOperands(0, MANY_OPERANDS, (values, _, name) => {
  const result: Document = {}
  for (const value of values) {
    if (isNullish(value)) continue
    if (!isObject(value))
      fail(40400, `${name} requires object inputs, but input is of type ${typeName(value)}`)
    for (const [key, inner] of Object.entries(documentFields(value as Document)))
      setMember(result, key, inner)
  }
  return result
})

const fieldName = (value: unknown, code: number, name: string): string =>
  typeof value === 'string'
    ? value
    : fail(code, `${name} requires 'field' to evaluate to type String, but got ${typeName(value)}`)

const getCodes = { object: 3041701, unknown: 3041701, missing: { field: 3041702, input: 3041703 } }

const $getField: ExpressionOperator = (operand, compiler, name) => {
  const long = isObject(operand) && !Object.keys(operand)[0]?.startsWith('$')
  const operands = long
    ? withNamedOperands(operand, name, ['field', 'input'], [], getCodes)
    : { field: operand, input: '$$CURRENT' }
  const field = compiler.compile(operands.field)
  const input = compiler.compile(operands.input)
  return (scope) => {
    const key = fieldName(field(scope), 3041704, name)
    const value = input(scope)
    if (isNullish(value)) return value
    return isObject(value) && Object.hasOwn(documentFields(value), key)
      ? documentFields(value)[key]
      : undefined
  }
}

const setCodes = {
  object: 4161100,
  unknown: 4161101,
  missing: { field: 4161102, value: 4161103, input: 4161109 },
}

const $setField: ExpressionOperator = (operand, compiler, name) => {
  const required = name === '$setField' ? ['field', 'input', 'value'] : ['field', 'input']
  const operands = withNamedOperands(operand, name, required, [], setCodes)
  const literal =
    isObject(operands.field) && '$literal' in operands.field ? operands.field.$literal : operands.field
  if (typeof literal !== 'string' && isObject(operands.field))
    fail(4161106, `${name} requires 'field' to be a constant, but got a non-constant argument`)
  if (typeof literal !== 'string')
    fail(4161107, `${name} requires 'field' to evaluate to type String, but got ${typeName(literal)}`)
  if (literal === operands.field && literal.startsWith('$'))
    fail(
      4161108,
      "A field path reference which is not allowed in this context. Did you mean {$literal: '" +
        literal +
        "'}?",
    )
  if (literal.includes('\0')) fail(16411, `${name}: field names may not contain null bytes`)
  const input = compiler.compile(operands.input)
  const value = name === '$setField' ? compiler.compile(operands.value) : () => undefined
  return (scope) => {
    const target = input(scope)
    if (isNullish(target)) return null
    if (!isObject(target)) return fail(4161105, `${name} requires 'input' to evaluate to type Object`)
    const result = { ...documentFields(target) }
    const fieldValue = value(scope)
    if (fieldValue === undefined) delete result[literal]
    else setMember(result, literal, fieldValue)
    return result
  }
}

export const objects: Record<string, ExpressionOperator> = {
  $arrayToObject,
  $objectToArray,
  $mergeObjects,
  $getField,
  $setField,
  $unsetField: $setField,
}

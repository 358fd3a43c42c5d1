/** Reads and checks the operands of operators. */
import type { Document } from 'bson'
import {
  bsonType,
  documentFields,
  isNullish,
  isNumeric,
  isObject,
  MAX_DOCUMENT_BYTES,
  toNumber,
} from '../../../values/bson-values.ts'
import { fail } from '../../../values/errors.ts'
import type { Compiler, Expression, ExpressionOperator } from '../expression.ts'

/** Operands as a list: `x` is `[x]`. */
const listOf = (operand: unknown): unknown[] => (Array.isArray(operand) ? operand : [operand])

/** An operator with a fixed number of operands, or a minimum and a maximum. */
export const withOperands =
  (
    least: number,
    most: number,
    run: (values: unknown[], compiler: Compiler, name: string) => unknown,
  ): ExpressionOperator =>
  (operand, compiler, name) => {
    const expressions = compileOperandList(operand, compiler, name, least, most)
    return (scope) =>
      run(
        expressions.map((expression) => expression(scope)),
        compiler,
        name,
      )
  }

export const compileOperandList = (
  operand: unknown,
  compiler: Compiler,
  name: string,
  least: number,
  most: number,
): Expression[] => {
  const list = listOf(operand)
  if (least === most && list.length !== least)
    fail(16020, `Expression ${name} takes exactly ${least} arguments. ${list.length} were passed in.`)
  if (list.length < least || list.length > most)
    fail(
      28667,
      `Expression ${name} takes at least ${least} arguments, and at most ${most}, but ${list.length} were passed in.`,
    )
  return list.map((item) => compiler.compile(item))
}

/** An operator with one operand. */
export const withOneOperand = (
  run: (value: unknown, name: string, compiler: Compiler) => unknown,
): ExpressionOperator => withOperands(1, 1, ([value], compiler, name) => run(value, name, compiler))

export const MANY_OPERANDS = Number.POSITIVE_INFINITY

export interface NamedCodes {
  /** The error code if the operand is not an object. */
  object: number
  unknown: number
  /** The error code of a missing field: one for each field, or one for all. */
  missing: number | Record<string, number>
}

/** @throws 16493 for a text larger than any document */
export const checkText = (text: string): string =>
  text.length < MAX_DOCUMENT_BYTES / 4 || Buffer.byteLength(text) < MAX_DOCUMENT_BYTES
    ? text
    : fail(16493, 'the string exceeds the maximum document size')

/** An operator with named operands. Checks for unknown and missing names. */
export const withNamedOperands = (
  operand: unknown,
  name: string,
  required: string[],
  optional: string[],
  codes: NamedCodes,
): Document => {
  if (!isObject(operand)) return fail(codes.object, `${name} only supports an object as its argument`)
  const operands = documentFields(operand)
  for (const key of Object.keys(operands))
    if (!required.includes(key) && !optional.includes(key))
      fail(codes.unknown, `Unrecognized argument to ${name}: ${key}`)
  for (const key of required)
    if (!Object.hasOwn(operands, key))
      fail(
        typeof codes.missing === 'number' ? codes.missing : (codes.missing[key] ?? 9),
        `Missing '${key}' parameter to ${name}`,
      )
  return operands
}

/** Compiles the given operands. */
export const compileNamedOperands = (operands: Document, compiler: Compiler): Record<string, Expression> =>
  Object.fromEntries(Object.entries(operands).map(([key, value]) => [key, compiler.compile(value)]))

const names: Record<string, string> = {
  Int32: 'int',
  Double: 'double',
  Long: 'long',
  Decimal128: 'decimal',
  Binary: 'binData',
  ObjectId: 'objectId',
  BSONRegExp: 'regex',
  Timestamp: 'timestamp',
  BSONSymbol: 'symbol',
  MinKey: 'minKey',
  MaxKey: 'maxKey',
  DBRef: 'object',
}

/** The name of a value's type, as $type shows it. */
export const typeName = (value: unknown): string => {
  if (value === undefined) return 'missing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (value instanceof Date) return 'date'
  if (typeof value === 'string') return 'string'
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'number') return 'double'
  const type = bsonType(value)
  if (type === 'Code') return (value as { scope?: unknown }).scope ? 'javascriptWithScope' : 'javascript'
  return names[type ?? ''] ?? 'object'
}

/** Truth in expressions: everything except false, null, missing and zero. */
export const isTrue = (value: unknown): boolean =>
  !(isNullish(value) || value === false || (isNumeric(value) && isZero(value)))

const isZero = (value: unknown): boolean =>
  toNumber(value) === 0 &&
  (bsonType(value) !== 'Decimal128' || !/[1-9]/.test(String(value).split('E', 1)[0] as string))

/** An integer that fits into 32 bits; undefined for anything else. */
export const toInt32 = (value: unknown): number | undefined => {
  const number = isNumeric(value) ? toNumber(value) : Number.NaN
  return Number.isInteger(number) && number >= -(2 ** 31) && number < 2 ** 31 ? number : undefined
}

/** The maximum time for one document; loops of expressions check it now and then. */
const EVALUATION_TIMEOUT_MS = 5_000
let steps = 0
let since = 0

export const startEvaluationTime = (): void => {
  since = 0
}

/** @throws 50 if one document takes so long that other work must wait */
export const checkEvaluationTime = (): void => {
  if ((++steps & 1023) !== 0) return
  const now = performance.now()
  if (since === 0) since = now
  else if (now - since > EVALUATION_TIMEOUT_MS)
    fail(50, 'operation exceeded time limit: one document took too long')
}

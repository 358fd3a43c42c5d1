/** The interface of expressions, for authors of operators. */
import type { Collation } from '../../values/compare.ts'
import { fail } from '../../values/errors.ts'

/** The input of an evaluation: the document and the variables. */
export interface Scope {
  root: unknown
  variables: Readonly<Record<string, unknown>>
}

/** undefined: the value is missing. */
export type Expression = (scope: Scope) => unknown

export interface Compiler {
  collation: Collation | undefined
  compile(expression: unknown): Expression
  /** A compiler that knows further variables. */
  with(...names: string[]): Compiler
}

export type ExpressionOperator = (operand: unknown, compiler: Compiler, name: string) => Expression

/** The parts of a path. @throws for an invalid path */
export const splitFieldPath = (path: string): string[] => {
  if (path === '') fail(40352, 'FieldPath cannot be constructed with empty string')
  if (path.endsWith('.')) fail(40353, "FieldPath must not end with a '.'.")
  if (path.includes('\0')) fail(16411, 'FieldPath field names may not contain null bytes')
  const parts = path.split('.')
  for (const part of parts) {
    if (part === '') fail(15998, 'FieldPath field names may not be empty strings.')
    if (part.startsWith('$')) fail(16410, `FieldPath field names may not start with '$': '${part}'`)
  }
  if (parts.length > 200) fail(5984700, 'FieldPath is too long')
  return parts
}

/** @throws for a name that callers may not give to a variable */
export const checkVariable = (name: string): string => {
  if (name === '') fail(9, 'empty variable names are not allowed')
  if (!/^[a-z\u0080-\uffff]/.test(name) && name !== 'CURRENT')
    fail(9, `'${name}' starts with an invalid character for a user variable name`)
  if (!/^[\w\u0080-\uffff]*$/.test(name))
    fail(9, `'${name}' contains an invalid character for a variable name`)
  return name
}

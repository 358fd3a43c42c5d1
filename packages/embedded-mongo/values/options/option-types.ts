/** Type checks of options: of commands, of stages, and of nested specifications. */
import type { Document } from 'bson'
import { isNullish, isNumeric, isObject } from '../bson-values.ts'
import { fail } from '../errors.ts'

/** @throws 14 for a value of another type, 2 for a value outside the allowed ones */
export type Check = (value: unknown, name: string) => void

export const wrongType = (name: string, type: string): never =>
  fail(14, `BSON field '${name}' is the wrong type, expected type '${type}'`)

export const boolean: Check = (value, name) => {
  if (typeof value !== 'boolean') wrongType(name, 'bool')
}

/** Some options accept numbers as booleans, others do not. */
export const flag: Check = (value, name) => {
  if (!isNumeric(value)) boolean(value, name)
}

export const number: Check = (value, name) => {
  if (!isNumeric(value)) wrongType(name, 'number')
}

export const text: Check = (value, name) => {
  if (typeof value !== 'string') wrongType(name, 'string')
}

export const object: Check = (value, name) => {
  if (!isObject(value)) wrongType(name, 'object')
}

export const oneOf =
  (...values: string[]): Check =>
  (value, name) => {
    text(value, name)
    if (!values.includes(value as string))
      fail(2, `Enumeration value '${value}' for field '${name}' is not a valid value.`)
  }

/** Checks each option; null counts as absent. */
export const checkEach = (options: Document, name: string, checks: Readonly<Record<string, Check>>): void => {
  for (const [option, check] of Object.entries(checks))
    if (!isNullish(options[option])) check(options[option], `${name}.${option}`)
}

/** @throws 40415 */
export const checkKnown = (document: Document, name: string, allowedFields: readonly string[]): void => {
  for (const key of Object.keys(document))
    if (!allowedFields.includes(key)) fail(40415, `BSON field '${name}.${key}' is an unknown field.`)
}

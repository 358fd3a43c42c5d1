/** What options may be: those of commands, of stages, and of what is specified in them. */
import type { Document } from 'bson'
import { fail } from '../errors.ts'
import { isNullish, isNumeric, isObject } from '../values.ts'

/** @throws 14 for a value of another type, 2 for one that is none of those it may be */
export type Check = (value: unknown, name: string) => void

export const wrongType = (name: string, type: string): never =>
  fail(14, `BSON field '${name}' is the wrong type, expected type '${type}'`)

export const boolean: Check = (value, name) => {
  if (typeof value !== 'boolean') wrongType(name, 'bool')
}

/** Numbers stand for booleans in some options, in others not. */
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

/** Null says nothing. */
export const checkEach = (given: Document, name: string, checks: Readonly<Record<string, Check>>): void => {
  for (const [option, check] of Object.entries(checks))
    if (!isNullish(given[option])) check(given[option], `${name}.${option}`)
}

/** @throws 40415 */
export const checkKnown = (given: Document, name: string, known: readonly string[]): void => {
  for (const key of Object.keys(given))
    if (!known.includes(key)) fail(40415, `BSON field '${name}.${key}' is an unknown field.`)
}

import type { TSchema } from '@sinclair/typebox'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { isLanguageTag, isTimeZone } from '../code-lists.ts'
import { isInCalendar } from './calendar.ts'
import { type Violation, violationsFromAjv } from './violations.ts'

/** Returns all violations of a value; empty if it is valid. */
export type Validator = (value: unknown) => Violation[]

/** Code optimisation is off: it takes a third of the compile time, and V8 optimises anyway. */
const ajv = new Ajv2020({ allErrors: true, strict: true, verbose: true, code: { optimize: false } })
ajv.addVocabulary(['sentence', 'inWords', 'documented'])
addFormats.default(ajv)
ajv.addFormat('line', /^[^\p{Cc}\p{Zl}\p{Zp}]*$/u)
ajv.addFormat('language-tag', isLanguageTag)
ajv.addFormat('time-zone', isTimeZone)

/**
 * Restricts dates and times to the years 1 to 9999 in UTC, because others cannot be written in these formats.
 * Leap seconds are invalid: they cannot be stored and compared.
 */
for (const format of ['date', 'date-time'] as const) {
  const { validate: isWellFormed } = ajv.formats[format] as { validate(text: string): boolean }
  ajv.addFormat(format, (text: string) => isWellFormed(text) && isInCalendar(Date.parse(text)))
}

/** Compiled validators by schema text, because most operations share schemas. */
const validatorsBySchema = new Map<string, Validator>()

/**
 * Creates a validator that compiles its schema on first use: compiling all of them would delay the start.
 * Tests check that each schema compiles. Names (`$id`) serve the documentation and are dropped, so that a
 * named schema can occur inside any number of others.
 */
export function createValidator(schema: TSchema): Validator {
  let check: Validator | undefined
  return (value) => {
    check ??= findOrCompileValidator(schema)
    return check(value)
  }
}

/** Names of schemas, and rules that code checks. */
const DOCUMENTATION_KEYWORDS = new Set(['$id', 'documented'])

function findOrCompileValidator(schema: TSchema): Validator {
  const text = JSON.stringify(schema, (key, value) => (DOCUMENTATION_KEYWORDS.has(key) ? undefined : value))
  const check = validatorsBySchema.get(text) ?? compileValidator(text)
  validatorsBySchema.set(text, check)
  return check
}

function compileValidator(text: string): Validator {
  const validate = ajv.compile(JSON.parse(text))
  return (value) => (validate(value) ? [] : violationsFromAjv(validate.errors))
}

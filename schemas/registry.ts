import type { TSchema } from '@sinclair/typebox'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { isLanguageTag, isTimeZone } from './code-lists.ts'
import { type Violation, violationsOf } from './violation.ts'

/** Everything that is wrong with a value; nothing when it is valid. */
export type Check = (value: unknown) => Violation[]

const FIRST = Date.parse('0001-01-01T00:00:00Z')
const LAST = Date.parse('9999-12-31T23:59:59.999Z')
const isBetween = (from: number, time: number, to: number): boolean => from <= time && time <= to

/** Its code is not made smaller: that takes a third of the time of compiling, and the engine does it again. */
const ajv = new Ajv2020({ allErrors: true, strict: true, verbose: true, code: { optimize: false } })
ajv.addVocabulary(['sentence', 'inWords'])
addFormats.default(ajv)
ajv.addFormat('language-tag', isLanguageTag)
ajv.addFormat('time-zone', isTimeZone)

/**
 * Days and moments of the years 1 to 9999, in UTC: anything else could not be written in these formats again.
 * A leap second is no moment that can be kept and compared.
 */
for (const format of ['date', 'date-time'] as const) {
  const { validate: isWritten } = ajv.formats[format] as { validate(text: string): boolean }
  ajv.addFormat(format, (text: string) => isWritten(text) && isBetween(FIRST, Date.parse(text), LAST))
}

/** What has been compiled, by the schema's text: most operations share their schemas with others. */
const compiled = new Map<string, Check>()

/**
 * Compiles a schema, once and when it is needed: all of them together take a good part of a start. That each one can be
 * compiled is what tests show. Names (`$id`) are for the documentation: without them a named schema may stand inside
 * any number of others.
 */
export function checkOf(schema: TSchema): Check {
  let check: Check | undefined
  return (value) => {
    check ??= compiledOf(schema)
    return check(value)
  }
}

function compiledOf(schema: TSchema): Check {
  const text = JSON.stringify(schema, (key, value) => (key === '$id' ? undefined : value))
  const check = compiled.get(text) ?? compile(text)
  compiled.set(text, check)
  return check
}

function compile(text: string): Check {
  const validate = ajv.compile(JSON.parse(text))
  return (value) => (validate(value) ? [] : violationsOf(validate.errors))
}

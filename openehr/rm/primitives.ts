import { isWellFormedDuration, parseDate, parseDateTime, parseTime } from './iso8601.ts'

/** The result of reading a JSON value as a primitive type; `fault` says what the value must be. */
export type PrimitiveResult = { value: string | number | boolean } | { fault: string }

/** A number in a text, as XML and many programs write it. */
const NUMBER_PATTERN = /^[+-]?\d{1,40}(\.\d{1,40})?([eE][+-]?\d{1,3})?$/

/** Characters that XML cannot contain. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is looked for
const XML_FORBIDDEN_CHARACTERS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/

function readText(value: unknown, rule?: (text: string) => string | undefined): PrimitiveResult {
  if (typeof value !== 'string') return { fault: 'must be a string' }
  if (XML_FORBIDDEN_CHARACTERS.test(value)) return { fault: 'must not contain control characters' }
  const fault = rule?.(value)
  return fault === undefined ? { value } : { fault }
}

function readReal(value: unknown): PrimitiveResult {
  const read = typeof value === 'string' && NUMBER_PATTERN.test(value.trim()) ? Number(value) : value
  return typeof read === 'number' && Number.isFinite(read) ? { value: read } : { fault: 'must be a number' }
}

function readInteger(value: unknown): PrimitiveResult {
  const read = readReal(value)
  return 'value' in read && Number.isSafeInteger(read.value)
    ? read
    : { fault: `must be a whole number of at most ${Number.MAX_SAFE_INTEGER}` }
}

function readBoolean(value: unknown): PrimitiveResult {
  if (value === true || value === 'true' || value === '1') return { value: true }
  if (value === false || value === 'false' || value === '0') return { value: false }
  return { fault: 'must be true or false' }
}

const faultUnless = (holds: boolean, fault: string): string | undefined => (holds ? undefined : fault)

const readOneOf =
  (...values: string[]) =>
  (value: unknown): PrimitiveResult =>
    readText(value, (text) => faultUnless(values.includes(text), `must be one of ${values.join(', ')}`))

const readIso8601 =
  (parse: (text: string) => unknown, example: string) =>
  (value: unknown): PrimitiveResult =>
    readText(value, (text) => faultUnless(parse(text) !== undefined, `must be ISO 8601, such as ${example}`))

const isUri = (text: string): boolean => /^[a-z][a-z0-9+.-]*:\S*$/i.test(text) || /^[^\s:]+$/.test(text)

/** The types of attributes that are not classes. */
export const primitiveReaders: Readonly<Record<string, (value: unknown) => PrimitiveResult>> = {
  String: (value) => readText(value),
  NonEmptyString: (value) => readText(value, (text) => faultUnless(text !== '', 'must not be empty')),
  Identifier: (value) => readText(value, (text) => faultUnless(text.trim() !== '', 'must not be empty')),
  Boolean: readBoolean,
  Real: readReal,
  Integer: readInteger,
  ProportionKind: (value) => {
    const read = readInteger(value)
    const isInRange = 'value' in read && Number(read.value) >= 0 && Number(read.value) <= 4
    return isInRange ? read : { fault: 'must be a whole number from 0 to 4' }
  },
  MagnitudeStatus: readOneOf('=', '<', '>', '<=', '>=', '~'),
  Match: readOneOf('>', '=', '<', '?'),
  Date: readIso8601(parseDate, '2026-03-01'),
  Time: readIso8601(parseTime, '08:30:00'),
  DateTime: readIso8601(parseDateTime, '2026-03-01T08:30:00Z'),
  Duration: (value) =>
    readText(value, (text) =>
      faultUnless(
        isWellFormedDuration(text),
        'must be an ISO 8601 duration, such as P1DT2H, with a point and a fraction only in the last part (PT1.5S)',
      ),
    ),
  Base64: (value) =>
    readText(value, (text) => faultUnless(/^[A-Za-z0-9+/\s]*(?:=\s*){0,2}$/.test(text), 'must be in Base64')),
  Uri: (value) => readText(value, (text) => faultUnless(isUri(text), 'must be a URI')),
  EhrUri: (value) =>
    readText(value, (text) => faultUnless(/^ehr:\S*$/.test(text), 'must be a URI of the scheme ehr')),
}

import { parseDate, parseDateTime, parseDuration, parseTime } from './iso8601.ts'

/** What a primitive type makes of a JSON value; `fault` is what would be right. */
export type Read = { value: string | number | boolean } | { fault: string }

/** A number as XML, and not a few programs, write it: in a text. */
const NUMBER = /^[+-]?\d{1,40}(\.\d{1,40})?([eE][+-]?\d{1,3})?$/

/** What XML cannot carry. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is looked for
const UNWRITABLE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/

function text(value: unknown, rule?: (text: string) => string | undefined): Read {
  if (typeof value !== 'string') return { fault: 'must be a string' }
  if (UNWRITABLE.test(value)) return { fault: 'must not hold control characters' }
  const fault = rule?.(value)
  return fault === undefined ? { value } : { fault }
}

function real(value: unknown): Read {
  const read = typeof value === 'string' && NUMBER.test(value.trim()) ? Number(value) : value
  return typeof read === 'number' && Number.isFinite(read) ? { value: read } : { fault: 'must be a number' }
}

function integer(value: unknown): Read {
  const read = real(value)
  return 'value' in read && Number.isSafeInteger(read.value) ? read : { fault: 'must be a whole number' }
}

function boolean(value: unknown): Read {
  if (value === true || value === 'true' || value === '1') return { value: true }
  if (value === false || value === 'false' || value === '0') return { value: false }
  return { fault: 'must be true or false' }
}

const when = (holds: boolean, fault: string): string | undefined => (holds ? undefined : fault)

const oneOf =
  (...values: string[]) =>
  (value: unknown): Read =>
    text(value, (given) => when(values.includes(given), `must be one of ${values.join(', ')}`))

const iso8601 =
  (parse: (text: string) => unknown, example: string) =>
  (value: unknown): Read =>
    text(value, (given) => when(parse(given) !== undefined, `must be ISO 8601, such as ${example}`))

const isUri = (given: string): boolean => /^[a-z][a-z0-9+.-]*:\S*$/i.test(given) || /^[^\s:]+$/.test(given)

/** The types of attributes that are no classes. */
export const primitives: Readonly<Record<string, (value: unknown) => Read>> = {
  String: (value) => text(value),
  Code: (value) => text(value, (given) => when(given !== '', 'must not be empty')),
  Identifier: (value) => text(value, (given) => when(given.trim() !== '', 'must not be empty')),
  Boolean: boolean,
  Real: real,
  Integer: integer,
  ProportionKind: (value) => {
    const read = integer(value)
    const known = 'value' in read && Number(read.value) >= 0 && Number(read.value) <= 4
    return known ? read : { fault: 'must be a whole number from 0 to 4' }
  },
  MagnitudeStatus: oneOf('=', '<', '>', '<=', '>=', '~'),
  Match: oneOf('>', '=', '<', '?'),
  Date: iso8601(parseDate, '2026-03-01'),
  Time: iso8601(parseTime, '08:30:00'),
  DateTime: iso8601(parseDateTime, '2026-03-01T08:30:00Z'),
  Duration: iso8601(parseDuration, 'P1DT2H'),
  Base64: (value) =>
    text(value, (given) => when(/^[A-Za-z0-9+/\s]*={0,2}\s*$/.test(given), 'must be in Base64')),
  Uri: (value) => text(value, (given) => when(isUri(given), 'must be a URI')),
  EhrUri: (value) => text(value, (given) => when(/^ehr:\S*$/.test(given), 'must be a URI of the scheme ehr')),
}

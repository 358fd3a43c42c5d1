import { findRepeatedNames, NameCounter } from '../../schemas/json/repeated-names.ts'
import { hasReservedKey, type JsonLimits, RESERVED_KEYS, walkJson } from '../../schemas/json/walk-json.ts'
import type { Violation } from '../../schemas/validation/violations.ts'
import { InputError, locateViolation, malformedInput } from '../reply/invalid-input.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Parses a JSON body.
 *
 * @param reservedKeys keys that no object may have
 * @throws MalformedRequest for invalid JSON or UTF-8, values that cannot be stored, reserved or repeated keys, or exceeded
 *   limits
 */
export function parseJson(
  bytes: Buffer,
  limits: JsonLimits,
  reservedKeys: readonly string[] = RESERVED_KEYS,
): unknown {
  let text = ''
  let value: unknown
  try {
    text = utf8.decode(bytes)
    value = JSON.parse(text)
  } catch {
    rejectBody('json', 'must be JSON in UTF-8')
  }
  const faultOf = text.includes('\\u') ? findValueFault : findPlainFault
  const names = new NameCounter()
  let isFaulty = false
  const exceededLimit = walkJson(value, limits, (one) => {
    names.add(one)
    isFaulty ||= faultOf(one, reservedKeys) !== undefined
  })
  if (exceededLimit === 'values') rejectTooManyValues(limits)
  if (exceededLimit === 'depth') rejectBody('depth', `must not be nested deeper than ${limits.depth} levels`)
  if (isFaulty)
    throw new InputError(
      'MalformedRequest',
      [...findJsonFaults(value, reservedKeys)].map(locateViolation('body')),
    )
  const repeated = findRepeatedNames(text, names.count)
  if (repeated.length > 0)
    throw new InputError(
      'MalformedRequest',
      repeated.map((path) => locateViolation('body')({ path, ...REPEATED_NAME })),
    )
  return value
}

/** @throws MalformedRequest for a form with too many fields */
export function parseForm(bytes: Buffer, limits: JsonLimits): URLSearchParams {
  const fields = parseParameters(bytes.toString(), 'body')
  if (fields.size > limits.values) rejectTooManyValues(limits)
  return fields
}

/** @throws MalformedRequest for parameters that are not in UTF-8 */
export function parseParameters(text: string, place: 'query' | 'body'): URLSearchParams {
  for (const pair of text.split('&'))
    if (!isEncodedText(pair)) {
      const [name = ''] = pair.split('=', 1)
      throw malformedInput(place, name.slice(0, MAX_NAME_LENGTH), 'encoding', 'must be percent-encoded UTF-8')
    }
  return new URLSearchParams(text)
}

/** Longer names are cut off in violations. */
const MAX_NAME_LENGTH = 64

/** URLSearchParams takes other bytes for U+FFFD, and a lone percent sign for itself. */
function isEncodedText(text: string): boolean {
  if (!text.includes('%')) return true
  try {
    decodeURIComponent(text.replace(/%(?![\da-f]{2})/gi, '%25'))
    return true
  } catch {
    return false
  }
}

type JsonFault = Omit<Violation, 'path'>

const isForbiddenKey = (key: string): boolean => key.includes('\0') || !key.isWellFormed()

/** Yields all faults with their paths. The value must not exceed the depth limit. */
function* findJsonFaults(value: unknown, reservedKeys: readonly string[], path = ''): Generator<Violation> {
  const fault = findValueFault(value, reservedKeys)
  if (fault) yield { path, ...fault }
  if (typeof value !== 'object' || value === null) return
  for (const [name, inner] of Object.entries(value))
    yield* findJsonFaults(inner, reservedKeys, path === '' ? name : `${path}.${name}`)
}

function findValueFault(value: unknown, reservedKeys: readonly string[]): JsonFault | undefined {
  if (typeof value === 'string' && !value.isWellFormed()) return INVALID_VALUE
  return (
    findPlainFault(value, reservedKeys) ??
    (isObject(value) && Object.keys(value).some(isForbiddenKey) ? forbiddenKey(reservedKeys) : undefined)
  )
}

/** Lone surrogates and NUL enter UTF-8 text by escapes only. Without escapes fewer checks are needed. */
function findPlainFault(value: unknown, reservedKeys: readonly string[]): JsonFault | undefined {
  if (typeof value === 'number' && !Number.isFinite(value)) return INVALID_VALUE
  return hasReservedKey(value, reservedKeys) ? forbiddenKey(reservedKeys) : undefined
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Values that would not be returned as sent: a number beyond a double, or a lone surrogate. */
const INVALID_VALUE: JsonFault = {
  code: 'value',
  message: 'must be a finite number, or a text of valid Unicode without NUL',
}
const REPEATED_NAME: JsonFault = { code: 'repeated', message: 'must occur once only' }
const forbiddenKey = (reservedKeys: readonly string[]): JsonFault => ({
  code: 'key',
  message: `must not contain a property named ${reservedKeys.join(' or ')}, or one with NUL or invalid Unicode in its name`,
})

const rejectTooManyValues = ({ values }: JsonLimits): never =>
  rejectBody('values', `must not contain more than ${values.toLocaleString('en')} values`)

function rejectBody(code: string, message: string): never {
  throw malformedInput('body', '', code, message)
}

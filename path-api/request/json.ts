import { type JsonLimits, walkJson } from '../../schemas/json-values.ts'
import { malformed } from '../answer/invalid-input.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Parses a JSON body.
 *
 * @throws MalformedRequest for what is not JSON in UTF-8, cannot be kept, is larger than its limits or names `__proto__`
 */
export function parseJson(bytes: Buffer, limits: JsonLimits): unknown {
  let text = ''
  let value: unknown
  try {
    text = utf8.decode(bytes)
    value = JSON.parse(text)
  } catch {
    refuse('json', 'must be JSON in UTF-8')
  }
  const exceeded = walkJson(value, limits, text.includes('\\u') ? check : checkPlain)
  if (exceeded === 'values') refuseMany(limits)
  if (exceeded === 'depth') refuse('depth', `must not be nested deeper than ${limits.depth} levels`)
  return value
}

/** @throws MalformedRequest for a form with too many fields */
export function parseForm(bytes: Buffer, limits: JsonLimits): URLSearchParams {
  const fields = new URLSearchParams(bytes.toString())
  if (fields.size > limits.values) refuseMany(limits)
  return fields
}

const isWhole = (text: string): boolean => !/\p{Surrogate}/u.test(text)

const isTrap = (key: string): boolean => key === '__proto__' || key.includes('\0') || !isWhole(key)

function check(value: unknown): void {
  if (typeof value === 'string' && !isWhole(value)) refuse(...BENT)
  checkPlain(value)
  if (isObject(value) && Object.keys(value).some(isTrap)) refuse(...TRAP)
}

/** Only an escape can bring half of a character, or NUL, into a text that was UTF-8: without one there is less to look for. */
function checkPlain(value: unknown): void {
  if (typeof value === 'number' && !Number.isFinite(value)) refuse(...BENT)
  if (isObject(value) && Object.hasOwn(value, '__proto__')) refuse(...TRAP)
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** What would not come back as it was sent: a number beyond a double, half of a character. */
const BENT = ['value', 'must not contain a number or a string that cannot be stored'] as const
const TRAP = ['key', 'must not contain a property name that is never allowed'] as const

const refuseMany = ({ values }: JsonLimits): never =>
  refuse('values', `must not hold more than ${values.toLocaleString('en')} values`)

function refuse(code: string, message: string): never {
  throw malformed('body', '', code, message)
}

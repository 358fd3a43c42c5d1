import { type JsonLimits, walkJson } from '../../schemas/json-values.ts'
import type { Violation } from '../../schemas/violation.ts'
import { malformed, Placed, placedIn } from '../answer/invalid-input.ts'

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
  const faultOf = text.includes('\\u') ? fault : plainFault
  let isFaulty = false
  const exceeded = walkJson(value, limits, (one) => {
    isFaulty ||= faultOf(one) !== undefined
  })
  if (exceeded === 'values') refuseMany(limits)
  if (exceeded === 'depth') refuse('depth', `must not be nested deeper than ${limits.depth} levels`)
  if (isFaulty) throw new Placed('MalformedRequest', [...faultsIn(value)].map(placedIn('body')))
  return value
}

/** @throws MalformedRequest for a form with too many fields */
export function parseForm(bytes: Buffer, limits: JsonLimits): URLSearchParams {
  const fields = new URLSearchParams(bytes.toString())
  if (fields.size > limits.values) refuseMany(limits)
  return fields
}

type Fault = Omit<Violation, 'path'>

const isWhole = (text: string): boolean => !/\p{Surrogate}/u.test(text)

const isTrap = (key: string): boolean => key === '__proto__' || key.includes('\0') || !isWhole(key)

/** All that is wrong, each at its path: of a value that is not nested too deep. */
function* faultsIn(value: unknown, path = ''): Generator<Violation> {
  const found = fault(value)
  if (found) yield { path, ...found }
  if (typeof value !== 'object' || value === null) return
  for (const [name, inner] of Object.entries(value))
    yield* faultsIn(inner, path === '' ? name : `${path}.${name}`)
}

function fault(value: unknown): Fault | undefined {
  if (typeof value === 'string' && !isWhole(value)) return BENT
  return plainFault(value) ?? (isObject(value) && Object.keys(value).some(isTrap) ? TRAP : undefined)
}

/** Only an escape can bring half of a character, or NUL, into a text that was UTF-8: without one there is less to look for. */
function plainFault(value: unknown): Fault | undefined {
  if (typeof value === 'number' && !Number.isFinite(value)) return BENT
  return isObject(value) && Object.hasOwn(value, '__proto__') ? TRAP : undefined
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** What would not come back as it was sent: a number beyond a double, half of a character. */
const BENT: Fault = { code: 'value', message: 'must be a number or a text that can be stored' }
const TRAP: Fault = { code: 'key', message: 'must not contain a property name that is never allowed' }

const refuseMany = ({ values }: JsonLimits): never =>
  refuse('values', `must not hold more than ${values.toLocaleString('en')} values`)

function refuse(code: string, message: string): never {
  throw malformed('body', '', code, message)
}

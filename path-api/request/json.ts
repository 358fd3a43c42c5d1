import { ServiceError } from '../../schemas/errors.ts'
import { type JsonLimits, walkJson } from '../../schemas/json-values.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Parses a JSON body.
 *
 * @throws MalformedRequest for what is not JSON in UTF-8, cannot be kept, is larger than its limits or names `__proto__`
 */
export function parseJson(bytes: Buffer, limits: JsonLimits): unknown {
  let value: unknown
  try {
    value = JSON.parse(utf8.decode(bytes))
  } catch {
    refuse('The body is not valid JSON in UTF-8.')
  }
  const exceeded = walkJson(value, limits, check)
  if (exceeded === 'values') refuseMany(limits)
  if (exceeded === 'depth') refuse(`The body is nested deeper than ${limits.depth} levels.`)
  return value
}

/** @throws MalformedRequest for a form with too many fields */
export function parseForm(bytes: Buffer, limits: JsonLimits): URLSearchParams {
  const fields = new URLSearchParams(bytes.toString())
  if (fields.size > limits.values) refuseMany(limits)
  return fields
}

const isTrap = (key: string): boolean => key === '__proto__' || key.includes('\0') || isBent(key)

/** What would not come back as it was sent: a number beyond a double, half of a character. */
const isBent = (value: unknown): boolean =>
  typeof value === 'number' ? !Number.isFinite(value) : typeof value === 'string' && !isWhole(value)

/** Only an escape can bring half of a character into a text that was UTF-8. */
const isWhole = (text: string): boolean => !/\p{Surrogate}/u.test(text)

function check(value: unknown): void {
  if (isBent(value)) refuse('The body contains a number or a string that cannot be stored.')
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return
  if (Object.keys(value).some(isTrap)) refuse('The body contains a property name that is never allowed.')
}

const refuseMany = ({ values }: JsonLimits): never =>
  refuse(`The body contains more than ${values.toLocaleString('en')} values.`)

function refuse(detail: string): never {
  throw new ServiceError('MalformedRequest', { detail })
}

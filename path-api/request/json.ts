import { ServiceError } from '../../schemas/errors.ts'
import type { BodyLimits } from '../operation/operation.ts'

type JsonLimits = Pick<BodyLimits, 'depth' | 'values'>

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
  check(value, limits)
  return value
}

const isTrap = (key: string): boolean => key === '__proto__' || key.includes('\0') || isBent(key)

/** What would not come back as it was sent: a number beyond a double, half of a character. */
const isBent = (value: unknown): boolean =>
  typeof value === 'number' ? !Number.isFinite(value) : typeof value === 'string' && !isWhole(value)

/** Only an escape can bring half of a character into a text that was UTF-8. */
const isWhole = (text: string): boolean => !/\p{Surrogate}/u.test(text)

/** Level by level: what comes after may take its time for each value, and must not be given too many. */
function check(body: unknown, { depth, values }: JsonLimits): void {
  let count = 0
  let level = [body]
  for (let levels = 0; level.length > 0; levels++) {
    count += level.length
    if (count > values) refuse(`The body contains more than ${values.toLocaleString('en')} values.`)
    if (level.some(isBent)) refuse('The body contains a number or a text that cannot be stored.')
    const objects = level.filter((value) => typeof value === 'object' && value !== null) as object[]
    if (levels === depth && objects.length > 0) refuse(`The body is nested deeper than ${depth} levels.`)
    if (objects.some((object) => !Array.isArray(object) && Object.keys(object).some(isTrap)))
      refuse('The body contains a property name that is never allowed.')
    level = objects.flatMap(Object.values)
  }
}

function refuse(detail: string): never {
  throw new ServiceError('MalformedRequest', { detail })
}

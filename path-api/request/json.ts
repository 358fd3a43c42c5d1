import { ServiceError } from '../../schemas/errors.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Parses a JSON body.
 *
 * @throws MalformedRequest for what is not JSON in UTF-8, cannot be kept, is nested too deeply or names `__proto__`
 */
export function parseJson(bytes: Buffer, depth: number): unknown {
  let value: unknown
  try {
    value = JSON.parse(utf8.decode(bytes))
  } catch {
    throw new ServiceError('MalformedRequest', { detail: 'The body is not valid JSON in UTF-8.' })
  }
  if (isDeeper(value, depth)) {
    throw new ServiceError('MalformedRequest', { detail: `The body is nested deeper than ${depth} levels.` })
  }
  refuseTraps(value)
  return value
}

const isTrap = (key: string): boolean => key === '__proto__' || key.includes('\0') || isBent(key)

/** What would not come back as it was sent: a number beyond a double, half of a character. */
const isBent = (value: unknown): boolean =>
  typeof value === 'number' ? !Number.isFinite(value) : typeof value === 'string' && !isWhole(value)

/** Only an escape can bring half of a character into a text that was UTF-8. */
const isWhole = (text: string): boolean => !/\p{Surrogate}/u.test(text)

const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((member) => isDeeper(member, levels - 1)))

function refuseTraps(value: unknown): void {
  if (isBent(value)) {
    throw new ServiceError('MalformedRequest', {
      detail: 'The body contains a number or a text that cannot be stored.',
    })
  }
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value) && Object.keys(value).some(isTrap)) {
    throw new ServiceError('MalformedRequest', {
      detail: 'The body contains a property name that is never allowed.',
    })
  }
  for (const member of Object.values(value)) refuseTraps(member)
}

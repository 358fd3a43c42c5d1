import { code, Refusal } from '../request/parse-request.ts'
import { isFieldPath } from './where.ts'

/** One parameter of a query, read and typed. undefined: as if it were not there. */
export type Reader<T> = (value: unknown, name: string) => T | undefined

/** Hints for the database: a client has no say in them, but the SDKs may send them. */
const ignored = new Set([
  'hint',
  'explain',
  'comment',
  'readPreference',
  'includeReadPreference',
  'subqueryReadPreference',
])

/**
 * @param parameters as they came: text from a query string, or JSON values from an SDK's body
 * @throws Refusal 400/102 for a parameter that has no reader
 */
export function readParameters<Q>(
  parameters: Record<string, unknown>,
  readers: { [N in keyof Required<Q>]: Reader<Q[N]> },
): Q {
  const read: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(parameters)) {
    if (ignored.has(name) || value === undefined) continue
    if (!Object.hasOwn(readers, name)) refuse(`${name.slice(0, 40)} is not a parameter of this query`)
    const typed = readers[name as keyof Q](value, name)
    if (typed !== undefined) read[name] = typed
  }
  return read as Q
}

export const wholeNumber = (value: unknown, name: string): number => {
  const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value
  if (typeof number !== 'number' || !Number.isSafeInteger(number) || number < 0 || number > 2 ** 31 - 1)
    return refuse(`${name} must be a whole number, 0 or more`)
  return number
}

export const flag = (value: unknown, name: string): boolean => {
  if ([1, true, '1', 'true'].includes(value as never)) return true
  if ([0, false, '0', 'false', null].includes(value as never)) return false
  return refuse(`${name} must be 1 or 0`)
}

export const field: Reader<string> = (value, name) => {
  if (!isFieldPath(value)) refuse(`${name} must be the name of a field`)
  return value
}

/** Fields separated by commas (the SDKs may send a list), for a sort with - before those that descend. */
export const fieldList: Reader<string> = (value, name) => {
  const list = Array.isArray(value) ? value : typeof value === 'string' ? value.split(',') : undefined
  if (!list || list.length > 100) return refuse(`${name} must be the names of fields, separated by commas`)
  const names = list
    .map((part) => (typeof part === 'string' ? part.trim() : part))
    .filter((part) => part !== '')
  for (const part of names) {
    const plain = name === 'order' && typeof part === 'string' ? part.replace(/^-/, '') : part
    if (plain !== '*' && !isFieldPath(plain))
      refuse(`${name} must be the names of fields, separated by commas`)
  }
  return names.length > 0 ? names.join(',') : undefined
}

function refuse(message: string): never {
  throw new Refusal(400, code.invalidQuery, message)
}

import { parseErrorCode, Refusal } from '../request/parse-request.ts'
import { isFieldPath } from './where.ts'

/** Reads one query parameter; undefined means that it counts as absent. */
export type ParameterReader<T> = (value: unknown, name: string) => T | undefined

/** Database hints, which SDKs may send and the service ignores. */
const IGNORED_PARAMETERS = new Set([
  'hint',
  'explain',
  'comment',
  'readPreference',
  'includeReadPreference',
  'subqueryReadPreference',
])

/**
 * @param parameters raw values: text from a query string, or JSON from an SDK's body
 * @throws Refusal 400/102 for an unknown parameter
 */
export function readParameters<Q>(
  parameters: Record<string, unknown>,
  readers: { [N in keyof Required<Q>]: ParameterReader<Q[N]> },
): Q {
  const read: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(parameters)) {
    if (IGNORED_PARAMETERS.has(name) || value === undefined) continue
    if (!Object.hasOwn(readers, name)) rejectParameter(`This query has no parameter "${name.slice(0, 40)}".`)
    const typed = readers[name as keyof Q](value, name)
    if (typed !== undefined) read[name] = typed
  }
  return read as Q
}

export const readWholeNumber = (value: unknown, name: string): number => {
  const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value
  if (typeof number !== 'number' || !Number.isSafeInteger(number) || number < 0 || number > 2 ** 31 - 1)
    return rejectParameter(`${name} must be a whole number from 0 to 2147483647.`)
  return number
}

export const readFlag = (value: unknown, name: string): boolean => {
  if ([1, true, '1', 'true'].includes(value as never)) return true
  if ([0, false, '0', 'false', null].includes(value as never)) return false
  return rejectParameter(`${name} must be 1 or 0.`)
}

export const readField: ParameterReader<string> = (value, name) => {
  if (!isFieldPath(value)) rejectParameter(`${name} must be the name of a field.`)
  return value
}

/** Comma-separated fields (SDKs may send a list); a leading - in a sort descends. */
export const readFieldList: ParameterReader<string> = (value, name) => {
  const list = Array.isArray(value) ? value : typeof value === 'string' ? value.split(',') : undefined
  if (!list || list.length > 100)
    return rejectParameter(`${name} must be the names of at most 100 fields, separated by commas.`)
  const names = list
    .map((part) => (typeof part === 'string' ? part.trim() : part))
    .filter((part) => part !== '')
  for (const part of names) {
    const plain = name === 'order' && typeof part === 'string' ? part.replace(/^-/, '') : part
    if (plain !== '*' && !isFieldPath(plain))
      rejectParameter(`${name} must be the names of at most 100 fields, separated by commas.`)
  }
  return names.length > 0 ? names.join(',') : undefined
}

function rejectParameter(message: string): never {
  throw new Refusal(400, parseErrorCode.invalidQuery, message)
}

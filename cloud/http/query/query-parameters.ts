import { parseErrorCode, Refusal } from '../request/parse-request.ts'
import { isFieldPath, quoteInput } from './query-fields.ts'

/** Reads one query parameter; undefined means that it counts as absent. */
export type ParameterReader<T> = (value: unknown, name: string) => T | undefined

/** Parameters of Parse that no query can have, with the reason. */
const REFUSED_PARAMETERS: Readonly<Record<string, string>> = {
  hint: 'the database chooses the index of every query',
  explain: 'query plans of the database are not shown',
  comment: 'queries are not logged, so a comment would be lost',
  readPreference: 'every query reads from the primary',
  includeReadPreference: 'every query reads from the primary',
  subqueryReadPreference: 'every query reads from the primary',
}

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
    if (value === undefined) continue
    if (Object.hasOwn(REFUSED_PARAMETERS, name))
      rejectParameter(`${name} is not available: ${REFUSED_PARAMETERS[name]}.`)
    if (!Object.hasOwn(readers, name)) rejectParameter(`This query has no parameter ${quoteInput(name)}.`)
    const parsedValue = readers[name as keyof Q](value, name)
    if (parsedValue !== undefined) read[name] = parsedValue
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

export function readField(value: unknown, name: string): string {
  if (!isFieldPath(value)) rejectParameter(`${name} must be the name of a field.`)
  return value
}

const MAX_FIELDS = 100
/** MongoDB sorts by at most 32 fields. */
const MAX_SORT_FIELDS = 32

/**
 * Reads comma-separated fields; SDKs may send a list.
 * @param checkName gets each name, in `order` with a leading - that sorts descending
 */
export const createFieldListReader =
  (checkName: (name: string) => unknown): ParameterReader<string> =>
  (value, parameter) => {
    const most = parameter === 'order' ? MAX_SORT_FIELDS : MAX_FIELDS
    const list = typeof value === 'string' ? value.split(',') : value
    if (!Array.isArray(list) || list.length > most)
      return rejectParameter(`${parameter} must be the names of at most ${most} fields, separated by commas.`)
    const names = list
      .map((part) => (typeof part === 'string' ? part.trim() : part))
      .filter((part) => part !== '')
    for (const name of names) {
      const plain = parameter === 'order' && typeof name === 'string' ? name.replace(/^-/, '') : name
      if (!(plain === '*' && parameter === 'include') && !isFieldPath(plain))
        rejectParameter(`${quoteInput(name)} in ${parameter} is not the name of a field.`)
      checkName(name)
    }
    return names.length > 0 ? names.join(',') : undefined
  }

function rejectParameter(message: string): never {
  throw new Refusal(400, parseErrorCode.invalidQuery, message)
}

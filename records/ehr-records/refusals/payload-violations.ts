import { matchesForm, TYPED_VALUES } from '../../../schemas/json/typed-values.ts'
import type { Violation } from '../../../schemas/validation/violations.ts'

const MAX_PAYLOAD_DEPTH = 32

/**
 * Validates user-defined data. Its keys become paths of queries, so none may contain `$` or `.`. Operations,
 * Parse objects and malformed values of Parse are refused, because the class family and Parse's SDKs would
 * interpret them. The payload itself is the first of at most 32 levels.
 * @param name name of the property with the data
 */
export function payloadViolations(payload: unknown, name = 'payload'): Violation[] {
  const violations: Violation[] = []
  let level: [path: string, value: unknown][] = [[name, payload]]
  for (let depth = 1; level.length > 0 && violations.length === 0; depth++) {
    const objects = level.filter((entry): entry is [string, object] => isObjectOrArray(entry[1]))
    if (depth > MAX_PAYLOAD_DEPTH && objects[0])
      return [
        {
          path: objects[0][0],
          code: 'depth',
          message: `must not be nested deeper than ${MAX_PAYLOAD_DEPTH} levels`,
        },
      ]
    level = objects.flatMap(([path, value]) => {
      if (isInterpreted(value)) violations.push({ path, code: 'object', message: INTERPRETED_MESSAGE })
      return Object.entries(value).map(([key, inner]): [string, unknown] => {
        if (isForbiddenKey(key))
          violations.push({
            path: `${path}.${key}`,
            code: 'key',
            message: 'must not contain $ or . and must not be __proto__',
          })
        return [`${path}.${key}`, inner]
      })
    })
  }
  return violations
}

const isObjectOrArray = (value: unknown): value is object => typeof value === 'object' && value !== null
const isForbiddenKey = (key: string): boolean => /[$.\0]/.test(key) || key === '__proto__'
const isInterpreted = (value: object): boolean => {
  const { __op, __type, ...fields } = value as Record<string, unknown>
  if (__op !== undefined || __type === 'Object') return true
  return __type !== undefined && !matchesForm(TYPED_VALUES, __type, fields)
}
const TYPE_NAMES = Object.keys(TYPED_VALUES).filter((name) => name !== 'Object')
const INTERPRETED_MESSAGE = `must not be an operation (__op); its __type must be one of ${TYPE_NAMES.join(', ')}, with the fields of that type`

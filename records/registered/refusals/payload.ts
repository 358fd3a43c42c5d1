import type { Violation } from '../../../schemas/violation.ts'

const DEEPEST = 32

/**
 * What is wrong with user-defined data: its keys become paths of queries, so none may hold `$` or `.`; what the class
 * family would take for a change of it or for another object that it includes has no place in it; and the payload
 * itself is the first of at most 32 levels.
 * @param name of the property that holds it
 */
export function payloadViolations(payload: unknown, name = 'payload'): Violation[] {
  const found: Violation[] = []
  let level: [path: string, value: unknown][] = [[name, payload]]
  for (let depth = 1; level.length > 0 && found.length === 0; depth++) {
    const objects = level.filter((entry): entry is [string, object] => isContainer(entry[1]))
    if (depth > DEEPEST && objects[0])
      return [
        { path: objects[0][0], code: 'depth', message: `must not be nested deeper than ${DEEPEST} levels` },
      ]
    level = objects.flatMap(([path, value]) =>
      Object.entries(value).map(([key, inner]): [string, unknown] => {
        if (isForbidden(key))
          found.push({
            path: `${path}.${key}`,
            code: 'key',
            message: 'must not contain $ or ., nor be __proto__',
          })
        if (key === '__op' || (key === '__type' && inner === 'Object'))
          found.push({ path, code: 'object', message: 'must not be an operation or a Parse object' })
        return [`${path}.${key}`, inner]
      }),
    )
  }
  return found
}

const isContainer = (value: unknown): value is object => typeof value === 'object' && value !== null
const isForbidden = (key: string): boolean => /[$.\0]/.test(key) || key === '__proto__'

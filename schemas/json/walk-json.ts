/** Keys that make JavaScript or the database driver misread an object as one of another type. */
export const RESERVED_KEYS: readonly string[] = ['__proto__', '_bsontype']

/** Those, and `toString`: an object with this key cannot be converted to text. FHIR and openEHR have no such element. */
export const RESERVED_DOCUMENT_KEYS: readonly string[] = [...RESERVED_KEYS, 'toString']

export const hasReservedKey = (value: unknown, keys: readonly string[]): boolean =>
  typeof value === 'object' && value !== null && keys.some((key) => Object.hasOwn(value, key))

/** Limits of a JSON value. */
export interface JsonLimits {
  depth: number
  values: number
}

/** The usual limits of the JSON in a request. */
export const REQUEST_JSON_LIMITS: Readonly<JsonLimits> = { depth: 32, values: 20_000 }

/**
 * Walks a JSON value level by level, because recursion could overflow the stack. Stops at a limit, because
 * later steps may be slow per value.
 * @param visit called for each value; its error ends the walk
 * @returns the exceeded limit, if any
 */
export function walkJson(
  root: unknown,
  { depth, values }: JsonLimits,
  visit: (value: unknown) => void,
): keyof JsonLimits | undefined {
  let count = 0
  let level = [root]
  for (let levels = 0; level.length > 0; levels++) {
    count += level.length
    if (count > values) return 'values'
    for (const value of level) visit(value)
    const objects = level.filter((value) => typeof value === 'object' && value !== null) as object[]
    if (levels === depth && objects.length > 0) return 'depth'
    level = objects.flatMap(Object.values)
  }
  return undefined
}

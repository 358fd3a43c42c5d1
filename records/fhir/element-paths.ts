/** Members of a resource, or of an element. */
export type FhirJson = Readonly<Record<string, unknown>>

const KEY = /([^.[\]]+)|\[(\d+)\]/g

type Keys = readonly (string | number)[]

/** Keys by path. Only mappings have paths, so there are few. */
const knownKeys = new Map<string, Keys>()

/** The keys of `code.coding[0].system`: names, and positions in lists. */
function keysOf(path: string): Keys {
  const known = knownKeys.get(path)
  if (known) return known
  const keys = [...path.matchAll(KEY)].map(([, name, position]) => name ?? Number(position))
  knownKeys.set(path, keys)
  return keys
}

/** An object's own member, since clients send any name, such as `constructor`; undefined if there is none. */
export const memberOf = (container: unknown, key: string | number): unknown =>
  typeof container === 'object' && container !== null && Object.hasOwn(container, key)
    ? (container as Record<string | number, unknown>)[key]
    : undefined

/** The value at a path such as `code.coding[0].system`; undefined if there is none. */
export const elementAt = (element: unknown, path: string): unknown =>
  keysOf(path).reduce<unknown>(memberOf, element)

/** An element with this value at the path; every position in a list counts as its only item. */
export const elementWith = (path: string, value: unknown): FhirJson =>
  keysOf(path).reduceRight<unknown>(
    (inner, key) => (typeof key === 'number' ? [inner] : { [key]: inner }),
    value,
  ) as FhirJson

/** Whether a value has members of its own. */
export const isElement = (value: unknown): value is FhirJson =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Joins parts of a resource: objects member by member, lists one behind the other. */
export function joinElements(parts: readonly FhirJson[]): Record<string, unknown> {
  const joined: Record<string, unknown> = {}
  for (const part of parts)
    for (const [name, value] of Object.entries(part)) {
      if (value === undefined) continue
      const before = joined[name]
      joined[name] =
        Array.isArray(before) && Array.isArray(value)
          ? [...before, ...value]
          : isElement(before) && isElement(value)
            ? joinElements([before, value])
            : value
    }
  return joined
}

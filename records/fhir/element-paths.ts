import { Decimal } from './decimal.ts'

/** Members of a resource, or of an element. */
export type FhirJson = Readonly<Record<string, unknown>>

const KEY = /([^.[\]]+)|\[(\d+)\]/g

/** The keys of `code.coding[0].system`: names, and positions in lists. */
const keysOf = (path: string): (string | number)[] =>
  /[.[]/.test(path) ? [...path.matchAll(KEY)].map(([, name, position]) => name ?? Number(position)) : [path]

/** An object's own member, since clients send any name, such as `constructor`; undefined if there is none. */
export const memberOf = (container: unknown, key: string | number): unknown =>
  typeof container === 'object' && container !== null && Object.hasOwn(container, key)
    ? (container as Record<string | number, unknown>)[key]
    : undefined

/** A path in an element, split once. */
export interface ElementPath {
  /** An element with this value at the path; every position in a list counts as its only item. */
  show(value: unknown): FhirJson
  /** The value at the path; undefined if there is none. */
  read(element: unknown): unknown
}

/** @param path such as `code.coding[0].system` */
export function elementPath(path: string): ElementPath {
  const keys = keysOf(path)
  const wrap = (inner: unknown, key: string | number) =>
    typeof key === 'number' ? [inner] : { [key]: inner }
  return {
    show: (value) => keys.reduceRight(wrap, value) as FhirJson,
    read: (element) => keys.reduce(memberOf, element),
  }
}

/** The value at a path that is read only once; see `elementPath`. */
export const elementAt = (element: unknown, path: string): unknown => elementPath(path).read(element)

/** An element with a value at a path that is shown only once; see `elementPath`. */
export const elementWith = (path: string, value: unknown): FhirJson => elementPath(path).show(value)

/** Whether a value has members of its own. */
export const isElement = (value: unknown): value is FhirJson =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Decimal)

/** Joins parts of a resource: objects member by member, lists one behind the other. */
export function joinElements(parts: readonly FhirJson[]): Record<string, unknown> {
  const elements: Record<string, unknown> = {}
  for (const part of parts)
    for (const name of Object.keys(part)) {
      const value = part[name]
      if (value === undefined) continue
      const before = elements[name]
      elements[name] =
        Array.isArray(before) && Array.isArray(value)
          ? [...before, ...value]
          : isElement(before) && isElement(value)
            ? joinElements([before, value])
            : value
    }
  return elements
}

type ChangeText = (text: string, name: string) => string

/** An element with other texts. What stays the same is not copied. @param change returns a text that stays */
export function replaceTexts<T>(element: T, change: ChangeText): T {
  if (typeof element !== 'object' || element === null || element instanceof Decimal) return element
  const members = element as Record<string, unknown>
  let copy: Record<string, unknown> | undefined
  for (const name of Object.keys(members)) {
    const member = members[name]
    const next = typeof member === 'string' ? change(member, name) : replaceTexts(member, change)
    if (next === member) continue
    copy ??= (Array.isArray(element) ? [...element] : { ...element }) as Record<string, unknown>
    copy[name] = next
  }
  return (copy ?? element) as T
}

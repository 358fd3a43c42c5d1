/** Reads and writes one concrete path of the document to update. */
import type { Document } from 'bson'
import { getMember, isIndex, isObject, setMember } from '../../values/bson-values.ts'
import { compareStrings } from '../../values/compare.ts'
import { fail } from '../../values/errors.ts'

const MAX_PADDING = 1_500_000

export const readPath = (document: Document, parts: readonly string[]): unknown => {
  let value: unknown = document
  for (const part of parts)
    value = Array.isArray(value) ? (isIndex(part) ? value[Number(part)] : undefined) : getMember(value, part)
  return value
}

/** @throws 28 if the path leads through a value that is not a document, or into an array by a name */
export const checkPathIsWritable = (document: Document, parts: readonly string[]): void => {
  for (let length = 1; length < parts.length; length++) {
    const value = readPath(document, parts.slice(0, length))
    const viable = Array.isArray(value) ? isIndex(parts[length] as string) : isObject(value)
    if (value !== undefined && !viable)
      fail(28, `Cannot use the part (${parts[length]}) of (${parts.join('.')}) to traverse the element`)
  }
}

/**
 * Sets the value and creates missing documents along the path.
 * @throws 28 if the path leads through another value
 */
export const writePath = (document: Document, parts: readonly string[], value: unknown): void => {
  let container: unknown = document
  for (const part of parts.slice(0, -1)) {
    const next = child(container, part)
    if (next !== undefined) container = next
    else {
      const inner: Document = {}
      assign(container, part, inner, parts)
      container = inner
    }
  }
  assign(container, parts.at(-1) as string, value, parts)
}

const child = (container: unknown, part: string): unknown => {
  if (Array.isArray(container)) return isIndex(part) ? container[Number(part)] : undefined
  return getMember(container, part)
}

const assign = (container: unknown, part: string, value: unknown, parts: readonly string[]): void => {
  if (Array.isArray(container)) {
    if (!isIndex(part))
      fail(28, `Cannot create field '${part}' in element that is an array (path ${parts.join('.')})`)
    const position = Number(part)
    if (position > container.length + MAX_PADDING) fail(2, 'the index is too far beyond the end of the array')
    while (container.length < position) container.push(null)
    container[position] = value
  } else if (isObject(container)) setMember(container, part, value)
  else fail(28, `Cannot create field '${part}' in element that is not a document (path ${parts.join('.')})`)
}

/** Removes a field. An array element becomes null, so that the other elements keep their positions. */
export const erasePath = (document: Document, parts: readonly string[]): void => {
  const container = readPath(document, parts.slice(0, -1))
  const part = parts.at(-1) as string
  if (Array.isArray(container)) {
    if (isIndex(part) && Number(part) < container.length) container[Number(part)] = null
  } else if (isObject(container)) delete container[part]
}

/**
 * The order in which MongoDB applies the paths of an update: level by level, names as text, numbers by value.
 */
export const comparePaths = (a: readonly string[], b: readonly string[]): number => {
  for (let at = 0; at < a.length && at < b.length; at++) {
    const order = compareNames(a[at] as string, b[at] as string)
    if (order !== 0) return order
  }
  return a.length - b.length
}

const compareNames = (a: string, b: string): number => {
  if (a === b) return 0
  const byLength = startsNumber(a) && startsNumber(b) ? a.length - b.length : 0
  return byLength || compareStrings(a, b)
}

const startsNumber = (name: string): boolean => /^([1-9]|0$)/.test(name)

/** Dotted paths into documents, with MongoDB's implicit walk through arrays. */
import { get, isIndex, isObject } from './values.ts'

/**
 * Every value a path leads to; undefined once where a document lacks the field. An array on the way counts for
 * each document in it (and, for a numeric part, the element there); an array at the end is not opened.
 */
export const lookup = (
  value: unknown,
  parts: readonly string[],
  at = 0,
  found: unknown[] = [],
): unknown[] => {
  if (at === parts.length) {
    found.push(value)
    return found
  }
  const part = parts[at] as string
  if (Array.isArray(value)) {
    if (isIndex(part) && Number(part) < value.length) lookup(value[Number(part)], parts, at + 1, found)
    for (const element of value) if (isObject(element)) lookup(element, parts, at, found)
  } else if (isObject(value)) lookup(get(value, part), parts, at + 1, found)
  else found.push(undefined)
  return found
}

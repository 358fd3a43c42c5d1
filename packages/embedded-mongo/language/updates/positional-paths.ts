/** The positional parts of update paths: `$`, `$[]` and `$[name]`. */
import type { Document } from 'bson'
import { isObject } from '../../values/bson-values.ts'
import type { Collation } from '../../values/compare.ts'
import { fail } from '../../values/errors.ts'
import { compileFilter, type DocumentTest } from '../filters/matcher.ts'
import { readPath } from './update-paths.ts'

/** A test of array elements for each identifier. */
type ArrayFilters = Map<string, DocumentTest>

export const compileArrayFilters = (arrayFilters: unknown, collation?: Collation): ArrayFilters => {
  const compiledFilters: ArrayFilters = new Map()
  if (arrayFilters === undefined || arrayFilters === null) return compiledFilters
  if (!Array.isArray(arrayFilters))
    return fail(14, "BSON field 'arrayFilters' is the wrong type, expected type 'array'")
  for (const filter of arrayFilters) {
    if (isObject(filter) && '$expr' in filter) fail(224, '$expr is not allowed in an array filter')
    const names = new Set(identifiers(filter))
    const [name] = names
    if (name === undefined || names.size !== 1)
      return fail(9, 'Error parsing array filter :: caused by :: Expected a single top-level field name')
    if (!/^[a-z][a-zA-Z0-9]*$/.test(name))
      return fail(
        2,
        `The top-level field name must be an alphanumeric string beginning with a lowercase letter, found '${name}'`,
      )
    if (compiledFilters.has(name))
      fail(9, `Found multiple array filters with the same top-level field name ${name}`)
    const test = compileFilter(filter, { collation })
    compiledFilters.set(name, (element) => test({ [name]: element }))
  }
  return compiledFilters
}

const identifiers = (filter: unknown): string[] =>
  isObject(filter)
    ? Object.entries(filter).flatMap(([key, value]) =>
        key.startsWith('$') && Array.isArray(value)
          ? value.flatMap(identifiers)
          : [key.split('.')[0] as string],
      )
    : []

/** @throws 2 for an identifier without a filter, 9 for an unused filter */
export const checkArrayFilters = (paths: string[], filters: ArrayFilters): void => {
  if (filters.size === 0 && !paths.some((path) => path.includes('$'))) return
  const usedNames = new Set(
    paths.flatMap((path) => path.split('.').flatMap((part) => (isPositional(part) ? part.slice(2, -1) : []))),
  )
  for (const name of usedNames)
    if (name && !filters.has(name)) fail(2, `No array filter found for identifier '${name}'`)
  for (const name of filters.keys())
    if (!usedNames.has(name)) fail(9, `The array filter for identifier '${name}' was not used in the update`)
}

export const isPositional = (part: string): boolean => part === '$' || /^\$\[.*\]$/.test(part)

/**
 * Resolves `a.$.b`, `a.$[].b` and `a.$[x].b` to the concrete paths of this document.
 * @param position of the element that the query matched; -1: none
 */
export const concretePaths = (
  document: Document,
  path: string,
  filters: ArrayFilters,
  position: number,
): string[][] => {
  if (!path.includes('$')) return [path.split('.')]
  let paths: string[][] = [[]]
  for (const part of path.split('.')) {
    if (!isPositional(part)) paths = paths.map((parts) => [...parts, part])
    else
      paths = paths.flatMap((parts) =>
        positions(document, parts, part, filters, position).map((at) => [...parts, String(at)]),
      )
  }
  return paths
}

const positions = (
  document: Document,
  parts: string[],
  part: string,
  filters: ArrayFilters,
  position: number,
): number[] => {
  const array = readPath(document, parts)
  const path = parts.join('.')
  if (part === '$')
    return position >= 0
      ? [position]
      : fail(2, 'The positional operator did not find the match needed from the query.')
  if (array === undefined)
    return fail(2, `The path '${path}' must exist in the document in order to apply array updates.`)
  if (!Array.isArray(array)) return fail(2, `Cannot apply array updates to non-array element ${path}`)
  const name = part.slice(2, -1)
  const test = filters.get(name) ?? (() => true)
  return array.flatMap((element, at) => (test(element) ? [at] : []))
}

import { walkJson } from './walk-json.ts'

/** Counts the names of the objects in a JSON value, while walkJson visits each value. */
export class NameCounter {
  /** Every value but the root and the items of lists has a name. */
  count = -1
  readonly add = (value: unknown): void => {
    this.count += Array.isArray(value) ? 1 - value.length : 1
  }
}

/** JSON in which a name occurs repeatedly in an object. */
export class RepeatedNamesError extends SyntaxError {
  /** As {@link findRepeatedNames} returns them. */
  readonly paths: readonly string[]
  constructor(paths: readonly string[]) {
    const names = paths.slice(0, MAX_LISTED_NAMES).join(', ')
    super(`several values of ${names || 'one name'}`)
    this.paths = paths
  }
}

const MAX_LISTED_NAMES = 10

/**
 * Parses JSON from outside the service, and refuses several values of one name.
 * @throws SyntaxError; RepeatedNamesError
 */
export function parseUnambiguousJson(text: string, maxSearchedNames?: number): unknown {
  const value: unknown = JSON.parse(text)
  const names = new NameCounter()
  walkJson(value, { depth: Number.POSITIVE_INFINITY, values: Number.POSITIVE_INFINITY }, names.add)
  const paths = findRepeatedNames(text, names.count, maxSearchedNames)
  if (paths.length > 0) throw new RepeatedNamesError(paths)
  return value
}

/** The end of a name: a colon after a quote that no single backslash precedes. */
const NAME_END = /"(?<!(?<!\\)\\")[ \t\n\r]*:/g

/** A text, and the colon that makes it a name. */
const TEXT = /("[^"\\]*(?:\\.[^"\\]*)*)"([ \t\n\r]*:)?/g

/**
 * Finds names that occur repeatedly in an object. JSON.parse keeps the last value of each and drops the others.
 * @param text valid JSON
 * @param count number of names in the parsed value
 * @returns the paths of some of them; only '', that of the whole value, if they are many or deeply nested
 */
export function findRepeatedNames(
  text: string,
  count: number,
  maxSearchedNames = MAX_SEARCHED_NAMES,
): string[] {
  const likelyNames = countLikelyNames(text)
  if (likelyNames === count || !hasMoreNames(text, count)) return []
  const paths = likelyNames > maxSearchedNames ? [] : findInNumbered(JSON.parse(numberNames(text)))
  return paths.length > 0 ? paths : ['']
}

/** Counts names, and texts with quotes that look like names. Large files have too many for a list. */
function countLikelyNames(text: string): number {
  let count = 0
  NAME_END.lastIndex = 0
  while (NAME_END.test(text)) count++
  return count
}

function hasMoreNames(text: string, count: number): boolean {
  let total = 0
  for (const [, , colon] of text.matchAll(TEXT)) if (colon !== undefined && ++total > count) return true
  return false
}

function numberNames(text: string): string {
  let number = 0
  return text.replace(TEXT, (match, name: string, colon?: string) =>
    colon === undefined ? match : `${name}${SEPARATOR}${number++}"${colon}`,
  )
}

/** NUL separates a name from its number. */
const SEPARATOR = '\\u0000'

/** Limits of the search, since dropped values are not part of the value whose size was checked. */
const MAX_SEARCHED_NAMES = 20_000
const MAX_SEARCHED_DEPTH = 32

/** Finds repeated names in a value whose names have numbers. */
function findInNumbered(root: unknown): string[] {
  const repeatedPaths = new Set<string>()
  let level = [{ path: '', value: root }]
  for (let depth = 0; level.length > 0 && depth <= MAX_SEARCHED_DEPTH; depth++)
    level = level.flatMap(({ path, value }) => {
      if (typeof value !== 'object' || value === null) return []
      const namesHere = new Set<string>()
      return Object.entries(value).map(([key, inner]) => {
        const name = Array.isArray(value) ? key : key.slice(0, key.lastIndexOf('\0'))
        const innerPath = path === '' ? name : `${path}.${name}`
        if (namesHere.has(name)) repeatedPaths.add(innerPath)
        namesHere.add(name)
        return { path: innerPath, value: inner }
      })
    })
  return [...repeatedPaths]
}

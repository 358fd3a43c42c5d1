/** Counts the names of the objects in a JSON value, while walkJson visits each value. */
export class NameCounter {
  /** Every value but the root and the items of lists has a name. */
  count = -1
  readonly add = (value: unknown): void => {
    this.count += Array.isArray(value) ? 1 - value.length : 1
  }
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
export function findRepeatedNames(text: string, count: number): string[] {
  // Texts with quotes can look like names.
  const likelyNames = text.match(NAME_END)?.length ?? 0
  if (likelyNames === count || !hasMoreNames(text, count)) return []
  const paths = likelyNames > MAX_SEARCHED_NAMES ? [] : findInNumbered(JSON.parse(numberNames(text)))
  return paths.length > 0 ? paths : ['']
}

function hasMoreNames(text: string, count: number): boolean {
  let total = 0
  for (const [, , colon] of text.matchAll(TEXT)) if (colon !== undefined && ++total > count) return true
  return false
}

function numberNames(text: string): string {
  let number = 0
  return text.replace(TEXT, (all, name: string, colon?: string) =>
    colon === undefined ? all : `${name}${SEPARATOR}${number++}"${colon}`,
  )
}

/** NUL separates a name from its number. */
const SEPARATOR = '\\u0000'

/** Limits of the search, since dropped values are not part of the value whose size was checked. */
const MAX_SEARCHED_NAMES = 20_000
const MAX_SEARCHED_DEPTH = 32

/** Finds repeated names in a value whose names have numbers. */
function findInNumbered(root: unknown): string[] {
  const found = new Set<string>()
  let level = [{ path: '', value: root }]
  for (let depth = 0; level.length > 0 && depth <= MAX_SEARCHED_DEPTH; depth++)
    level = level.flatMap(({ path, value }) => {
      if (typeof value !== 'object' || value === null) return []
      const namesHere = new Set<string>()
      return Object.entries(value).map(([key, inner]) => {
        const name = Array.isArray(value) ? key : key.slice(0, key.lastIndexOf('\0'))
        const innerPath = path === '' ? name : `${path}.${name}`
        if (namesHere.has(name)) found.add(innerPath)
        namesHere.add(name)
        return { path: innerPath, value: inner }
      })
    })
  return [...found]
}

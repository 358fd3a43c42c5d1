import assert from 'node:assert/strict'
import { accessSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Context } from 'mocha'

const root = new URL('../../../../shared/corpus/', import.meta.url)

/** Opens a file or directory of the corpus beside the project; skips the test if it does not exist. */
function skipUnlessPresent<T>(test: Context, path: string, read: (place: URL) => T): T {
  try {
    return read(new URL(path, root))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return test.skip()
  }
}

/** A file of the corpus; skips the test if the corpus does not exist. */
export const readCorpusFile = <T>(test: Context, path: string): T =>
  skipUnlessPresent(test, path, (place) => JSON.parse(readFileSync(place, 'utf8')))

/** The path of a file of the corpus on this machine; skips the test if the corpus does not exist. */
export const corpusPath = (test: Context, path: string): string =>
  skipUnlessPresent(test, path, (place) => {
    accessSync(place)
    return fileURLToPath(place)
  })

/** The paths of all files in a directory of the corpus; skips the test if the corpus does not exist. */
export const listCorpusFiles = (test: Context, directory: string): string[] =>
  skipUnlessPresent(test, `${directory}/`, (place) =>
    readdirSync(place, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => `${parentPath}/${name}`.split('/corpus/').at(-1) as string)
      .sort(),
  )

/** Asserts that we have all fields of an example, with the same types; null may replace any value. */
export function assertShape(ours: unknown, example: unknown, path = ''): void {
  if (ours === null || example === null) return
  if (Array.isArray(example)) {
    assert.ok(Array.isArray(ours), path)
    for (const one of example) for (const own of ours.slice(0, 1)) assertShape(own, one, `${path}[]`)
  } else if (typeof example === 'object') {
    for (const [name, value] of Object.entries(example as object)) {
      assert.ok(Object.hasOwn(ours as object, name), `${path}.${name}`)
      assertShape((ours as Record<string, unknown>)[name], value, `${path}.${name}`)
    }
  } else assert.equal(typeof ours, typeof example, path)
}

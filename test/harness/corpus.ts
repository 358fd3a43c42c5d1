import { readdirSync, readFileSync } from 'node:fs'
import type { Context } from 'mocha'

const root = new URL('../../../../shared/corpus/', import.meta.url)

/** The place of a file or a directory of the corpus beside the project; skips the test where it is not there. */
function present<T>(test: Context, path: string, read: (place: URL) => T): T {
  try {
    return read(new URL(path, root))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return test.skip()
  }
}

/** A file of the corpus beside the project; skips the test where the corpus is not there. */
export const corpus = <T>(test: Context, path: string): T =>
  present(test, path, (place) => JSON.parse(readFileSync(place, 'utf8')))

/** The paths of all files below a directory of the corpus; skips the test where the corpus is not there. */
export const corpusFiles = (test: Context, directory: string): string[] =>
  present(test, `${directory}/`, (place) =>
    readdirSync(place, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => `${parentPath}/${name}`.split('/corpus/').at(-1) as string)
      .sort(),
  )

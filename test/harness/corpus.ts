import { readFileSync } from 'node:fs'
import type { Context } from 'mocha'

/** A file of the corpus beside the project; skips the test where the corpus is not there. */
export function corpus<T>(test: Context, path: string): T {
  try {
    return JSON.parse(readFileSync(new URL(`../../../../shared/corpus/${path}`, import.meta.url), 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return test.skip()
  }
}

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type JsonFile, jsonIn } from '../schemas/json-file.ts'

/**
 * The `*.json` files of a folder that the operator may name; what cannot be read is reported by file name.
 * @param variable which names the folder
 */
export function jsonFilesIn(folder: string | undefined, variable: string): JsonFile[] {
  if (folder === undefined) return []
  try {
    const names = readdirSync(folder).filter((name) => name.endsWith('.json'))
    return names.sort().map((name) => ({ name: `${variable}/${name}`, ...contentOf(join(folder, name)) }))
  } catch (error) {
    return [{ name: variable, fault: `cannot be read: ${(error as Error).message}` }]
  }
}

function contentOf(path: string): Omit<JsonFile, 'name'> {
  try {
    return { content: jsonIn(readFileSync(path)) }
  } catch (error) {
    const kind = error instanceof SyntaxError ? 'is no JSON' : 'cannot be read'
    return { fault: `${kind}: ${(error as Error).message}` }
  }
}

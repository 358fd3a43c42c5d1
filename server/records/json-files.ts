import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type JsonFile, parseJsonFile } from '../../schemas/json/json-file.ts'

/**
 * Reads the `*.json` files of a folder that the operator may configure. Unreadable files are reported by
 * name.
 * @param variable environment variable that names the folder
 */
export function readJsonFiles(folder: string | undefined, variable: string): JsonFile[] {
  if (folder === undefined) return []
  try {
    const names = readdirSync(folder).filter((name) => name.endsWith('.json'))
    return names.sort().map((name) => ({ name: `${variable}/${name}`, ...readJsonFile(join(folder, name)) }))
  } catch (error) {
    return [{ name: variable, fault: `cannot be read: ${(error as Error).message}` }]
  }
}

function readJsonFile(path: string): Omit<JsonFile, 'name'> {
  try {
    return { content: parseJsonFile(readFileSync(path)) }
  } catch (error) {
    const kind = error instanceof SyntaxError ? 'is not valid JSON' : 'cannot be read'
    return { fault: `${kind}: ${(error as Error).message}` }
  }
}

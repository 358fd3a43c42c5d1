import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The keys of a development machine: made on the first start and kept in `DATA_DIR/keys.json`, readable by
 * their owner only, so that a client configured once keeps working.
 * @throws Error when the file is damaged; a key silently replaced would lock every client out
 */
export function keptKeys(dataDir: string, names: string[]): Record<string, string> {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const file = join(dataDir, 'keys.json')
  const kept = readKeys(file)
  const absent = names.filter((name) => kept[name] === undefined)
  for (const name of absent) kept[name] = randomBytes(24).toString('hex')
  if (absent.length > 0) {
    writeFileSync(`${file}.new`, `${JSON.stringify(kept, null, 2)}\n`, { mode: 0o600 })
    renameSync(`${file}.new`, file)
  }
  chmodSync(file, 0o600)
  return Object.fromEntries(names.map((name) => [name, kept[name] ?? '']))
}

function readKeys(file: string): Record<string, string> {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw error
  }
  try {
    const keys: unknown = JSON.parse(text)
    if (keys !== null && typeof keys === 'object') return keys as Record<string, string>
  } catch {
    // Said below: the file is not what this service wrote.
  }
  throw new Error(`${file} is damaged; restore it, or remove it to have new keys made`)
}

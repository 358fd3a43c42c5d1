import { randomBytes } from 'node:crypto'
import { chmodSync, closeSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Keys of `DATA_DIR/keys.json` in a configuration. */
export interface KeyFile {
  path: string
  /** Settings whose values come from the file. */
  storedNames: readonly string[]
  /** Settings whose values were just generated and are not stored yet. */
  generatedNames: readonly string[]
}

/** Stored keys by setting. */
export type Keys = Record<string, string>

export const keyFileOf = (dataDir: string): string => join(dataDir, 'keys.json')

export const generateKey = (): string => randomBytes(24).toString('hex')

/**
 * Reads the stored keys; empty without a file. Only the owner can read the file.
 * @throws Error when the file is damaged, or cannot be read
 */
export function readStoredKeys(path: string): Keys {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
    restrictToOwner(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return {}
    throw new Error(`${path} cannot be read (${code}). It must be a file that this user can read and write.`)
  }
  try {
    const keys: unknown = JSON.parse(text)
    if (isKeys(keys)) return keys
  } catch {
    // Reported below: the file was not written by this service.
  }
  throw damagedKeyFile(path)
}

/** A mounted secret, and a file of another user, keep their mode. */
function restrictToOwner(path: string): void {
  try {
    chmodSync(path, 0o600)
  } catch (error) {
    if (!['EPERM', 'EROFS'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
}

const isKeys = (value: unknown): value is Keys =>
  value !== null &&
  typeof value === 'object' &&
  Object.values(value).every((text) => typeof text === 'string')

export const damagedKeyFile = (path: string): Error =>
  new Error(
    `${path} is damaged. Restore it from its backup. Only without a backup: move it away and generate new keys with` +
      ' health-record-service audit rekey --lost (see its --help)',
  )

/** Adds or replaces keys in the file, atomically even if the process is killed or the power fails. */
export function storeKeys(path: string, keys: Keys): void {
  const text = `${JSON.stringify({ ...readStoredKeys(path), ...keys }, null, 2)}\n`
  inFile(`${path}.new`, 'w', (file) => writeFileSync(file, text))
  renameSync(`${path}.new`, path)
  inFile(dirname(path), 'r', () => {})
}

/** Opens a file or directory, runs the work and syncs it to disk. */
function inFile(path: string, flags: string, work: (file: number) => void): void {
  const file = openSync(path, flags, 0o600)
  try {
    work(file)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

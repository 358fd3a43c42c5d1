/**
 * Writes a consistent copy of a data file in use, with its checksum, and restores it into a new directory.
 */
import { createHash } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  createReadStream,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { open } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { DATA_FILE, FORMAT_VERSION, MARKER_FILE, replaceFile } from './data-directory.ts'
import { explainNoAccess, makeDirectory } from './file-access.ts'

/** Describes the backup. */
const RECEIPT = 'backup.json'
/** The data file until it is complete, so that an interrupted backup or restore can be repeated. */
const PART_FILE = `${DATA_FILE}.part`

interface Receipt {
  format: number
  bytes: number
  sha256: string
  /** The backup has everything that was stored before this time. */
  at: string
}

/** Directories that this process fills. The command that has asked for it may have been killed. */
const busyDirectories = new Set<string>()

/** @throws if the directory has other files than an attempt that was interrupted */
const makeEmpty = (directory: string, description: string): void => {
  if (busyDirectories.has(directory)) throw new Error('another backup is being written there')
  makeDirectory(directory)
  const names = readdirSync(directory)
  if (names.includes(RECEIPT) && names.includes(DATA_FILE))
    throw new Error(`it contains the finished backup of ${readReceipt(join(directory, RECEIPT)).at}`)
  if (!names.every((name) => [PART_FILE, description, `${description}.new`].includes(name)))
    throw new Error(`the directory ${directory} is not empty`)
  for (const name of names) rmSync(join(directory, name))
}

/**
 * Fills an empty directory. After a failure it is empty again, so that a second attempt can succeed.
 * @param description file that `write` creates beside the data file
 */
const fill = async <T>(
  directory: string,
  description: string,
  write: (file: string) => Promise<T>,
): Promise<T> => {
  try {
    makeEmpty(directory, description)
  } catch (error) {
    throw explainFault(directory, error)
  }
  busyDirectories.add(directory)
  const part = join(directory, PART_FILE)
  try {
    const result = await write(part)
    await syncToDisk(part)
    renameSync(part, join(directory, DATA_FILE))
    await syncToDisk(directory)
    return result
  } catch (error) {
    for (const file of [part, join(directory, description)]) rmSync(file, { force: true })
    throw explainFault(directory, error)
  } finally {
    busyDirectories.delete(directory)
  }
}

/** Returns when a file or directory outlives a power failure. It may be large, so the engine does not wait for it. */
const syncToDisk = async (path: string): Promise<void> => {
  const handle = await open(path)
  await handle.sync().finally(() => handle.close())
}

const explainFault = (directory: string, error: unknown): Error =>
  new Error(`cannot write to ${directory}: ${explainNoAccess(directory, error)}`)

const checksum = async (file: string): Promise<string> => {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(file)) hash.update(chunk)
  return hash.digest('hex')
}

/** Fills an empty directory; `copy` writes the data file there. */
export const writeBackup = async (
  directory: string,
  copy: (file: string) => Promise<void>,
): Promise<Receipt> =>
  fill(directory, RECEIPT, async (file) => {
    // The copy has the data of the time when it begins, and may take minutes.
    const at = new Date().toISOString()
    await copy(file)
    const receipt = {
      format: FORMAT_VERSION,
      bytes: statSync(file).size,
      sha256: await checksum(file),
      at,
    }
    replaceFile(join(directory, RECEIPT), receipt)
    return receipt
  })

/**
 * Creates a data directory from a backup, or leaves one that has this copy. The engine verifies it at its first start.
 * @throws if the backup is inconsistent
 */
export const restoreBackup = async (from: string, to: string): Promise<void> => {
  const receiptFile = join(from, RECEIPT)
  const file = join(from, DATA_FILE)
  // Unlike existsSync, statSync distinguishes a missing file from one that may not be read.
  const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size
  const missing = [receiptFile, file].find((path) => sizeOf(path) === undefined)
  if (missing !== undefined)
    throw new Error(`${from} contains no finished backup: ${basename(missing)} is missing`)
  const receipt = readReceipt(receiptFile)
  if (receipt.format !== FORMAT_VERSION)
    throw new Error(`${from} has format ${receipt.format}; this version reads ${FORMAT_VERSION}`)
  const isCopied = async (path: string) =>
    sizeOf(path) === receipt.bytes && (await checksum(path)) === receipt.sha256
  if (!(await isCopied(file))) throw new Error(`${from} is damaged: ${DATA_FILE} does not match its checksum`)
  // An earlier restore was interrupted after the copy.
  if (await isCopied(join(to, DATA_FILE)).catch(() => false)) return
  await fill(to, MARKER_FILE, async (copy) => {
    // With the marker first, a service does not mistake an interrupted restore for a new database.
    replaceFile(join(to, MARKER_FILE), { format: FORMAT_VERSION })
    copyFileSync(file, copy)
    chmodSync(copy, 0o600)
  })
}

const readReceipt = (file: string): Receipt => {
  const receipt = parseReceipt(readFileSync(file, 'utf8'))
  if (typeof receipt?.format !== 'number' || typeof receipt.at !== 'string')
    throw new Error(`${file} is damaged; restore another backup`)
  return receipt
}

const parseReceipt = (text: string): Receipt | null => {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

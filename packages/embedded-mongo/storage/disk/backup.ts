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
  rmSync,
  statSync,
} from 'node:fs'
import { join } from 'node:path'
import { DATA_FILE, FORMAT_VERSION, MARKER_FILE, replaceFile } from './data-directory.ts'
import { explainNoAccess, makeDirectory } from './file-access.ts'

/** Describes the backup. A backup without this file was not finished. */
const RECEIPT = 'backup.json'

interface Receipt {
  format: number
  bytes: number
  sha256: string
  at: string
}

/** @throws if the directory is not empty */
const makeEmpty = (directory: string): void => {
  makeDirectory(directory)
  if (readdirSync(directory).length > 0) throw new Error(`the directory ${directory} is not empty`)
}

/** Fills an empty directory. After a failure it is empty again, so that a second attempt can succeed. */
const fill = async <T>(directory: string, write: (file: string) => Promise<T>): Promise<T> => {
  try {
    makeEmpty(directory)
  } catch (error) {
    throw explainFault(directory, error)
  }
  const file = join(directory, DATA_FILE)
  try {
    return await write(file)
  } catch (error) {
    rmSync(file, { force: true })
    throw explainFault(directory, error)
  }
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
  fill(directory, async (file) => {
    await copy(file)
    const receipt = {
      format: FORMAT_VERSION,
      bytes: statSync(file).size,
      sha256: await checksum(file),
      at: new Date().toISOString(),
    }
    replaceFile(join(directory, RECEIPT), receipt)
    return receipt
  })

/**
 * Creates a data directory from a backup. The engine verifies it at its first start.
 * @throws if the backup is inconsistent
 */
export const restoreBackup = async (from: string, to: string): Promise<void> => {
  const receiptFile = join(from, RECEIPT)
  const file = join(from, DATA_FILE)
  // Unlike existsSync, statSync distinguishes a missing file from one that may not be read.
  const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size
  if (sizeOf(receiptFile) === undefined)
    throw new Error(`${from} contains no finished backup: ${RECEIPT} is missing`)
  const receipt = readReceipt(receiptFile)
  if (receipt.format !== FORMAT_VERSION)
    throw new Error(`${from} has format ${receipt.format}; this version reads ${FORMAT_VERSION}`)
  if (sizeOf(file) !== receipt.bytes || (await checksum(file)) !== receipt.sha256)
    throw new Error(`${from} is damaged: ${DATA_FILE} does not match its checksum`)
  await fill(to, async (copy) => {
    copyFileSync(file, copy)
    chmodSync(copy, 0o600)
    replaceFile(join(to, MARKER_FILE), { format: FORMAT_VERSION })
  })
}

const readReceipt = (file: string): Receipt => {
  const text = readFileSync(file, 'utf8')
  try {
    return JSON.parse(text)
  } catch {
    throw new Error(`${file} is damaged; restore another backup`)
  }
}

/** The data directory: one format, and one process at a time. Damaged files are never recreated. */
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { lockSockets, takeLock } from './directory-lock.ts'
import {
  checkAccess,
  explainNoAccess,
  freeBytesOf,
  makeDirectory,
  NEW_DATABASE_BYTES,
  StartFault,
} from './file-access.ts'
import { checkPages, DamagedFile, readHead } from './pages.ts'

export const FORMAT_VERSION = 1
export const MARKER_FILE = 'embedded-mongo.json'
export const DATA_FILE = 'data.mdb'
const READERS_FILE = 'data.mdb-lock'
const READERS_BYTES = 700_000
const STATE_FILE = 'data.mdb.state'
/** This file exists until the data file has been verified. */
const UNVERIFIED_FILE = 'data.mdb.unverified'

export const createDamageFault = (directory: string, damage: string): StartFault =>
  new StartFault(
    `data directory ${directory} is damaged: ${damage}. Restore a backup into an empty directory.`,
  )

/**
 * Whether the process ended by a signal of a crash, as lmdb causes on unexpected pages. Other signals come
 * from outside.
 */
export const isCrashSignal = (signal: string | null): boolean =>
  ['SIGABRT', 'SIGSEGV', 'SIGBUS', 'SIGFPE', 'SIGILL'].includes(String(signal))

export interface DataDirectory {
  file: string
  /**
   * A reason to verify the file before use: no process closed it, it was copied here, or it is shorter than
   * its own header says.
   */
  doubt: 'unclean' | 'copied' | undefined
  /** Records that the data file is complete and in use. From then on its absence is damage. */
  confirm(): void
  /** Stores the engine's URI, for processes that query the lock. */
  publishUri(uri: string): void
  /** Records that the data file has been closed, and releases the lock. */
  release(): void
}

/**
 * Locks the directory, and creates it (mode 700) if it does not exist.
 * @param below opening the data file reads the keys below this one
 * @throws StartFault
 */
export const openDataDirectory = async (directory: string, below: Buffer): Promise<DataDirectory> => {
  enterDirectory(directory)
  const lock = await takeLock(directory)
  try {
    const isConfirmed = checkFormat(directory)
    if (!isConfirmed) removeUnwrittenFile()
    const present = existsSync(DATA_FILE)
    if (!present && freeBytesOf('.') < NEW_DATABASE_BYTES)
      throw new StartFault(`the disk of data directory ${directory} is full. Free space, then start again.`)
    if (isConfirmed && !present) throw createDamageFault(directory, `${DATA_FILE} is missing`)
    const cut = present && checkDataFile(directory, below)
    const doubt = present ? (cut ? 'copied' : doubtOf(isConfirmed)) : undefined
    reserveReaderTable()
    const release = () => {
      ignoreFullDisk(() => writeState(false))
      lock.release()
    }
    return {
      file: join(process.cwd(), DATA_FILE),
      doubt,
      confirm: () => confirmDataFile(isConfirmed),
      publishUri: lock.publishUri,
      release,
    }
  } catch (error) {
    lock.release()
    throw error
  }
}

const enterDirectory = (directory: string): void => {
  try {
    makeDirectory(directory)
    process.chdir(directory)
    checkAccess(directory, [
      '.',
      DATA_FILE,
      READERS_FILE,
      STATE_FILE,
      UNVERIFIED_FILE,
      MARKER_FILE,
      ...lockSockets(),
    ])
    for (const name of [DATA_FILE, READERS_FILE]) restrictToOwner(name)
  } catch (error) {
    if (error instanceof StartFault) throw error
    throw new StartFault(`cannot use data directory ${directory}: ${explainNoAccess(directory, error)}`)
  }
}

/** Earlier versions created files that others may read. A file of another user stays as it is. */
const restrictToOwner = (path: string): void => {
  try {
    chmodSync(path, statSync(path).mode & 0o700)
  } catch {}
}

/** Whether the directory contains a database of this format. */
const checkFormat = (directory: string): boolean => {
  if (!existsSync(MARKER_FILE)) return false
  const text = readFileSync(MARKER_FILE, 'utf8')
  let format: unknown
  try {
    format = JSON.parse(text).format
  } catch {
    throw createDamageFault(directory, `${MARKER_FILE} cannot be read`)
  }
  if (format !== FORMAT_VERSION)
    throw new StartFault(
      `data directory ${directory} has format ${format}; this version reads format ${FORMAT_VERSION}`,
    )
  return true
}

/** A first start on a full disk leaves a file without content. */
const removeUnwrittenFile = (): void => {
  const size = statSync(DATA_FILE, { throwIfNoEntry: false })?.size ?? NEW_DATABASE_BYTES
  if (size < NEW_DATABASE_BYTES && readFileSync(DATA_FILE).every((byte) => byte === 0)) rmSync(DATA_FILE)
}

const confirmDataFile = (isConfirmed: boolean): void => {
  if (!isConfirmed) replaceFile(MARKER_FILE, { format: FORMAT_VERSION })
  rmSync(UNVERIFIED_FILE, { force: true })
  ignoreFullDisk(() => writeState(true))
}

export const replaceFile = (name: string, content: object): void => {
  const file = openSync(`${name}.new`, 'w', 0o600)
  writeFileSync(file, `${JSON.stringify(content)}\n`)
  fsyncSync(file)
  closeSync(file)
  renameSync(`${name}.new`, name)
}

/** Ignores a full disk, which must not prevent reads. */
const ignoreFullDisk = (run: () => void): void => {
  try {
    run()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  }
}

interface FileState {
  open: boolean
  file: number
  changed: number
  transaction?: number | undefined
}

/**
 * Stores whether the file is in use, and its identity, which reveals a copy. The last transaction of a closed
 * file reveals an older head later. That of a file in use could be lost with the disk's cache.
 */
const writeState = (open: boolean): void => {
  const { ino, mtimeMs } = statSync(DATA_FILE)
  const transaction = open ? undefined : syncedTransaction()
  const state: FileState = { open, file: ino, changed: mtimeMs, transaction }
  replaceFile(STATE_FILE, state)
}

const syncedTransaction = (): number => {
  const file = openSync(DATA_FILE, 'r+')
  fsyncSync(file)
  closeSync(file)
  return readHead(DATA_FILE).transaction
}

/** The stored state; undefined if it is damaged. */
const readState = (): FileState | undefined => {
  try {
    const state = JSON.parse(readFileSync(STATE_FILE, 'utf8'))
    return state instanceof Object ? state : undefined
  } catch {
    return undefined
  }
}

const doubtOf = (isConfirmed: boolean): DataDirectory['doubt'] => {
  if (!isConfirmed) return 'copied'
  // Data files of earlier versions have no state file.
  if (!existsSync(STATE_FILE)) return 'unclean'
  const state = readState()
  const { ino, mtimeMs } = statSync(DATA_FILE)
  if (!state || state.file !== ino || (!state.open && state.changed !== mtimeMs)) return 'copied'
  return state.open ? 'unclean' : undefined
}

/**
 * lmdb maps its reader table into memory, and crashes if the disk has no room for one of its pages. Reserve
 * the room first.
 */
const reserveReaderTable = (): void => {
  const size = existsSync(READERS_FILE) ? statSync(READERS_FILE).blocks * 512 : 0
  if (size < READERS_BYTES) ignoreFullDisk(() => writeFileSync(READERS_FILE, Buffer.alloc(READERS_BYTES)))
}

/**
 * Checks the data file without lmdb, which crashes in two cases:
 * - It meets unexpected pages. So the pages that every start reads are read here first.
 * - Pages are missing at the end of the mapped file. So a file shorter than its last page is padded with
 * zeros, which lmdb refuses to read. The contents must then be verified.
 *
 * @returns whether the contents must be verified
 */
const checkDataFile = (directory: string, below: Buffer): boolean => {
  try {
    const { bytes, transaction } = checkPages(DATA_FILE, below)
    if (transaction < Number(readState()?.transaction ?? 0))
      throw new DamagedFile('has a head of an older state')
    if (statSync(DATA_FILE).size < bytes) {
      closeSync(openSync(UNVERIFIED_FILE, 'w'))
      truncateSync(DATA_FILE, bytes)
    }
    return existsSync(UNVERIFIED_FILE)
  } catch (error) {
    throw error instanceof DamagedFile ? createDamageFault(directory, `${DATA_FILE} ${error.message}`) : error
  }
}

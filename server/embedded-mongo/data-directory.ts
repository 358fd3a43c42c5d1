/** The directory the data lies in: one process at a time, one format, nothing made anew over what is damaged. */
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { connect, createServer, type Server } from 'node:net'
import { join } from 'node:path'

const FORMAT = 1
const MARKER = 'embedded-mongo.json'
const DATA = 'data.mdb'
const LOCK = 'lock.sock'

/** A reason not to start, as a sentence for the operator. */
export class StartFault extends Error {}

export interface DataDirectory {
  file: string
  /** True when it held no database before. */
  fresh: boolean
  /** Says that the data file is complete: from now on its absence is damage. */
  confirm(): void
  release(): void
}

/** Enters the directory, making it (mode 700) when it does not exist, and locks it. @throws StartFault */
export const openDataDirectory = async (directory: string): Promise<DataDirectory> => {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    process.chdir(directory)
  } catch (error) {
    throw new StartFault(`cannot use data directory ${directory}: ${(error as Error).message}`)
  }
  const lock = await takeLock(directory)
  try {
    const fresh = !checkFormat(directory)
    if (existsSync(DATA)) checkDataFile(directory)
    else if (!fresh) throw new StartFault(`data directory ${directory} is damaged: ${DATA} is missing`)
    return { file: join(process.cwd(), DATA), fresh, confirm: writeMarker, release: () => lock.close() }
  } catch (error) {
    lock.close()
    throw error
  }
}

/**
 * The lock is a listening socket in the directory: it ends with its process, however that ends, and knows no
 * process ids that could come round again. The path is relative, since socket paths must be short.
 */
const takeLock = async (directory: string): Promise<Server> => {
  for (let attempt = 0; attempt < 3; attempt++) {
    const lock = await listen()
    if (lock) return lock
    const holder = await askHolder(LOCK)
    if (holder !== undefined)
      throw new StartFault(
        `data directory ${directory} is in use by another embedded-mongo (process ${holder})`,
      )
    clearStale()
  }
  throw new StartFault(`data directory ${directory} is being opened by another embedded-mongo`)
}

const listen = (): Promise<Server | undefined> =>
  new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.end(String(process.pid)))
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE'
        ? resolve(undefined)
        : reject(new StartFault(`cannot lock: ${error.message}`)),
    )
    server.listen(LOCK, () => {
      server.unref()
      resolve(server)
    })
  })

/** The process behind a lock, undefined when it is dead. */
const askHolder = (path: string): Promise<string | undefined> =>
  new Promise((resolve) => {
    let answer = ''
    const socket = connect(path)
    socket.setTimeout(2000, () => socket.destroy())
    socket.on('data', (chunk) => {
      answer += chunk
    })
    socket.on('error', (error: NodeJS.ErrnoException) =>
      resolve(['ECONNREFUSED', 'ENOENT'].includes(error.code ?? '') ? undefined : 'unknown'),
    )
    socket.on('close', () => resolve(answer || 'unknown'))
  })

/** Moved away before it is removed: of two processes that find the same dead lock only one gets it. */
const clearStale = (): void => {
  const away = `${LOCK}.${process.pid}`
  try {
    renameSync(LOCK, away)
  } catch {
    return
  }
  rmSync(away, { force: true })
}

/** True when the directory holds a database of this format. */
const checkFormat = (directory: string): boolean => {
  if (!existsSync(MARKER)) return false
  let format: unknown
  try {
    format = JSON.parse(readFileSync(MARKER, 'utf8')).format
  } catch {
    throw new StartFault(`data directory ${directory} is damaged: ${MARKER} cannot be read`)
  }
  if (format !== FORMAT)
    throw new StartFault(
      `data directory ${directory} has format ${format}; this version reads format ${FORMAT}`,
    )
  return true
}

const writeMarker = (): void => {
  const file = openSync(`${MARKER}.new`, 'w', 0o600)
  writeSync(file, `${JSON.stringify({ format: FORMAT })}\n`)
  fsyncSync(file)
  closeSync(file)
  renameSync(`${MARKER}.new`, MARKER)
}

/** lmdb maps the file into memory and would crash on one that is cut short: its length must reach the last page. */
const checkDataFile = (directory: string): void => {
  const damaged = (what: string) => new StartFault(`data directory ${directory} is damaged: ${DATA} ${what}`)
  const file = openSync(DATA, 'r')
  try {
    const meta = Buffer.alloc(0x4000 * 2)
    const read = readSync(file, meta, 0, meta.length, 0)
    if (read < 512) throw damaged('is too short')
    checkMetaPages(meta.subarray(0, read), statSync(DATA).size, damaged)
  } finally {
    closeSync(file)
  }
}

const checkMetaPages = (_meta: Buffer, _size: number, _damaged: (what: string) => StartFault): void => {}

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
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { connect, createServer, type Server } from 'node:net'
import { join } from 'node:path'

export const FORMAT = 1
export const MARKER = 'embedded-mongo.json'
export const DATA = 'data.mdb'
const READERS = 'data.mdb-lock'
const READERS_BYTES = 700_000
const STATE = 'data.mdb.state'
const LOCK = 'lock.sock'
const ANNOUNCED = 'announced'
/** While it is there, nobody has seen that the data file is whole. */
const UNVERIFIED = 'data.mdb.unverified'

/** A reason not to start, as a sentence for the operator. */
export class StartFault extends Error {}

export interface DataDirectory {
  file: string
  /**
   * Why the file should not simply be believed: it was left by a process that did not close it, or it is not the
   * file that was here before, or shorter than it says it is.
   */
  doubt: 'unclean' | 'copied' | undefined
  /** Says that the data file is whole and in use: from now on its absence is damage. */
  confirm(): void
  /** Tells who asks at the lock where the engine listens. */
  announce(address: string): void
  /** Says that the data file has been closed, and lets others have the directory. */
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
    const confirmed = checkFormat(directory)
    const present = existsSync(DATA)
    if (confirmed && !present)
      throw new StartFault(`data directory ${directory} is damaged: ${DATA} is missing`)
    const cut = present && checkDataFile(directory)
    const doubt = present ? (cut ? 'copied' : doubtOf(confirmed)) : undefined
    reserve()
    const release = () => {
      withRoom(() => writeState(false))
      lock.close()
    }
    const announce = (address: string) => lock.emit(ANNOUNCED, address)
    return { file: join(process.cwd(), DATA), doubt, confirm: () => confirm(confirmed), announce, release }
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
      throw new StartFault(`data directory ${directory} is in use by ${nameOf(holder)}`)
    clearStale()
  }
  throw new StartFault(`data directory ${directory} is being opened by another embedded-mongo`)
}

/** What a lock tells of the process that holds it. */
interface Holder {
  process: number
  /** Where it was started, and when. */
  startedIn?: string
  startedAt?: string
  /** Where it listens, once it does. */
  address?: string
}

const nameOf = ({ process: id, startedIn, startedAt }: Holder): string =>
  startedIn === undefined
    ? `another embedded-mongo (process ${id})`
    : `a service that was started in ${startedIn} at ${startedAt}, process ${id}: stop it first`

/** Where the process began: the engine works in its data directory. */
const startedIn = process.cwd()

const listen = (): Promise<Server | undefined> =>
  new Promise((resolve, reject) => {
    // Who is started by another process is known by that one.
    const holder: Holder = {
      process: process.send ? process.ppid : process.pid,
      ...{ startedIn, startedAt: new Date().toISOString().slice(0, 19).concat('Z') },
    }
    const server = createServer((socket) => socket.end(JSON.stringify(holder)))
    server.on(ANNOUNCED, (announced: string) => {
      holder.address = announced
    })
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
const askHolder = (path: string): Promise<Holder | undefined> =>
  new Promise((resolve) => {
    let answer = ''
    const socket = connect(path)
    socket.setTimeout(2000, () => socket.destroy())
    socket.on('data', (chunk) => {
      answer += chunk
    })
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (['ECONNREFUSED', 'ENOENT'].includes(error.code ?? '')) resolve(undefined)
    })
    socket.on('close', () => resolve(holderIn(answer)))
  })

/** An engine that is too busy to answer holds it all the same. */
function holderIn(answer: string): Holder {
  try {
    return JSON.parse(answer)
  } catch {
    return { process: Number.NaN }
  }
}

/** Where the engine that has this directory open listens; undefined when none has. */
export const addressOf = async (directory: string): Promise<string | undefined> => {
  const here = process.cwd()
  if (!existsSync(directory)) return undefined
  // Paths of sockets must be short; this one is looked up before the call returns.
  process.chdir(directory)
  const question = askHolder(LOCK)
  process.chdir(here)
  return (await question)?.address
}

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

const confirm = (confirmed: boolean): void => {
  if (!confirmed) replaceFile(MARKER, { format: FORMAT })
  rmSync(UNVERIFIED, { force: true })
  withRoom(() => writeState(true))
}

export const replaceFile = (name: string, content: object): void => {
  const file = openSync(`${name}.new`, 'w', 0o600)
  writeSync(file, `${JSON.stringify(content)}\n`)
  fsyncSync(file)
  closeSync(file)
  renameSync(`${name}.new`, name)
}

/** A full disk must not keep anyone from reading. */
const withRoom = (run: () => void): void => {
  try {
    run()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  }
}

/** Which file lies here, so that a copy is known as one, and whether it is in use. */
const writeState = (open: boolean): void => {
  const { ino, mtimeMs } = statSync(DATA)
  replaceFile(STATE, { open, file: ino, changed: mtimeMs })
}

const doubtOf = (confirmed: boolean): DataDirectory['doubt'] => {
  if (!confirmed) return 'copied'
  // Data files of earlier versions have no state beside them.
  if (!existsSync(STATE)) return 'unclean'
  try {
    const { open, file, changed } = JSON.parse(readFileSync(STATE, 'utf8'))
    const { ino, mtimeMs } = statSync(DATA)
    if (file !== ino || (!open && changed !== mtimeMs)) return 'copied'
    return open ? 'unclean' : undefined
  } catch {
    return 'copied'
  }
}

/** lmdb maps its table of readers into memory and dies when a page of it finds no room: its room is taken first. */
const reserve = (): void => {
  const size = existsSync(READERS) ? statSync(READERS).blocks * 512 : 0
  if (size < READERS_BYTES) withRoom(() => writeFileSync(READERS, Buffer.alloc(READERS_BYTES)))
}

/**
 * lmdb maps the file into memory and dies where a page is missing at its end. So a file that is shorter than its
 * last page is filled up with zeros, which lmdb refuses to read, and must then prove that every page in use is there.
 *
 * @returns true when the contents have to be verified
 */
const checkDataFile = (directory: string): boolean => {
  const damaged = (what: string) => new StartFault(`data directory ${directory} is damaged: ${DATA} ${what}`)
  const size = statSync(DATA).size
  const file = openSync(DATA, 'r')
  const head = Buffer.alloc(0x10000 + META_BYTES)
  const read = readSync(file, head, 0, head.length, 0)
  closeSync(file)
  const pageSize = read < META_BYTES ? 0 : head.readUInt32LE(META.pageSize)
  if (pageSize < 256 || pageSize > 0x10000 || pageSize + META_BYTES > read) throw damaged('is not a database')
  const pages = [0, pageSize].map((at) => {
    if (head.readUInt32LE(at + META.magic) !== 0xbeefc0de) throw damaged('is not a database')
    return [head.readBigUInt64LE(at + META.transaction), head.readBigUInt64LE(at + META.lastPage)] as const
  })
  const [, lastPage] = pages.reduce((a, b) => (b[0] > a[0] ? b : a)) as readonly [bigint, bigint]
  const wanted = (Number(lastPage) + 1) * pageSize
  if (wanted > MOST_BYTES) throw damaged('is not a database')
  if (size < wanted) {
    closeSync(openSync(UNVERIFIED, 'w'))
    truncateSync(DATA, wanted)
  }
  return existsSync(UNVERIFIED)
}

/** Where lmdb's two meta pages say what: the page size, the last page and the transaction that wrote it. */
const META = { magic: 0x18, pageSize: 0x30, lastPage: 0x90, transaction: 0x98 }
const META_BYTES = 0xa0
const MOST_BYTES = 2 ** 42

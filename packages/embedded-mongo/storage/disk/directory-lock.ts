/** The lock of a data directory: one process at a time uses it. */
import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { connect, createServer, type Server } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { StartFault } from './file-access.ts'

/**
 * Leads to the socket of the process that has the lock. Earlier versions listened here themselves, and look here for
 * another process.
 */
const LOCK_SOCKET = 'lock.sock'
const CLAIM_SOCKET = /^lock-[\w-]+\.sock$/

const CONTENTION_TIMEOUT_MS = 10_000
const CONTENTION_POLL_MS = 20

export interface DirectoryLock {
  /** Stores the engine's URI, for processes that query the lock. */
  publishUri(uri: string): void
  release(): void
}

/** The description that a socket gives of its process. */
interface LockOwner {
  process: number
  /** The directory in which the process was started, and the time. */
  startedIn?: string
  startedAt?: string
  /** The engine's URI, once it listens. */
  address?: string
  /** It does not have the lock yet. */
  isWaiting?: boolean
}

/** A process that wants the lock, or has it. */
interface Claim {
  /** The name of its socket, which no other process ever uses. */
  name: string
  owner: LockOwner
}

/** The sockets in the working directory that concern the lock. */
export const lockSockets = (): string[] =>
  readdirSync('.').filter((name) => name === LOCK_SOCKET || CLAIM_SOCKET.test(name))

/**
 * Locks the working directory. A process first claims the lock with a listening socket of its own, then looks for other
 * claims. So of two processes at least one sees the other. A claim ends with its process, and depends on no process ids,
 * which could be reused.
 * @param directory the path of the working directory, for messages
 * @throws StartFault
 */
export const takeLock = async (directory: string): Promise<DirectoryLock> => {
  const owner = describeThisProcess()
  const { name, server } = await claim(owner)
  const withdraw = () => {
    rmSync(name, { force: true })
    server.close()
  }
  try {
    await becomeOnlyClaim(name, directory)
    delete owner.isWaiting
    publish(name)
  } catch (error) {
    withdraw()
    throw error
  }
  return {
    publishUri: (uri) => {
      owner.address = uri
    },
    release: () => {
      rmSync(LOCK_SOCKET, { force: true })
      withdraw()
    },
  }
}

/** Waits until there is no other claim. Of several that wait, the first by name goes on. */
const becomeOnlyClaim = async (name: string, directory: string): Promise<void> => {
  for (const deadline = Date.now() + CONTENTION_TIMEOUT_MS; ; ) {
    const otherClaims = await findOthers(name)
    if (otherClaims.length === 0) return
    const holder = otherClaims.find(({ owner }) => !owner.isWaiting)
    if (holder) throw new StartFault(`data directory ${directory} is in use by ${nameOf(holder.owner)}`)
    if (otherClaims.some((other) => other.name < name) || Date.now() > deadline)
      throw new StartFault(`data directory ${directory} is being opened by another embedded-mongo`)
    await sleep(CONTENTION_POLL_MS)
  }
}

/** The other claims. Removes those of dead processes. */
const findOthers = async (ownName: string): Promise<Claim[]> => {
  const claims: Claim[] = []
  for (const name of lockSockets()) {
    if (name === ownName) continue
    const owner = await askOwner(name)
    if (owner) claims.push({ name, owner })
    // Another process may have taken over the common name meanwhile.
    else if (name !== LOCK_SOCKET) rmSync(name, { force: true })
  }
  return claims
}

/** Remembered because the engine changes into its data directory. */
const startedIn = process.cwd()

const describeThisProcess = (): LockOwner => ({
  // A forked engine gives its parent's id: that is the process people know.
  process: process.send ? process.ppid : process.pid,
  startedIn,
  startedAt: new Date().toISOString().slice(0, 19).concat('Z'),
  isWaiting: true,
})

const nameOf = ({ process: id, startedIn, startedAt }: LockOwner): string =>
  startedIn === undefined
    ? `another embedded-mongo${Number.isNaN(id) ? ' that does not respond' : `, process ${id}`}. Stop it first.`
    : `process ${id}, which was started in ${startedIn} at ${startedAt}. Stop it first.`

const cannotLock = (error: unknown) => new StartFault(`cannot lock: ${(error as Error).message}`)

/** Creates a claim. It gets its name when it listens: others take a socket that does not listen for a dead process's. */
const claim = (owner: LockOwner): Promise<{ name: string; server: Server }> =>
  new Promise((resolve, reject) => {
    const name = `lock-${randomUUID()}.sock`
    const fail = (error: unknown) => reject(cannotLock(error))
    const server = createServer((socket) => socket.on('error', () => {}).end(JSON.stringify(owner)))
    server.once('error', fail)
    // Relative, since socket paths must be short.
    server.listen(`${name}.new`, () => {
      try {
        renameSync(`${name}.new`, name)
      } catch (error) {
        server.close()
        return fail(error)
      }
      server.unref()
      resolve({ name, server })
    })
  })

/** Gives the claim that has the lock the common name, whatever has it now. */
const publish = (name: string): void => {
  try {
    rmSync(`${LOCK_SOCKET}.new`, { force: true })
    symlinkSync(name, `${LOCK_SOCKET}.new`)
    renameSync(`${LOCK_SOCKET}.new`, LOCK_SOCKET)
  } catch (error) {
    throw cannotLock(error)
  }
}

/** Asks the process that listens at a socket; undefined if the process is dead. */
const askOwner = (path: string): Promise<LockOwner | undefined> =>
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
    socket.on('close', () => resolve(parseLockOwner(answer)))
  })

/** A busy engine may not answer, and still has the lock. */
function parseLockOwner(answer: string): LockOwner {
  try {
    return JSON.parse(answer)
  } catch {
    return { process: Number.NaN }
  }
}

/** The URI of the engine that has this directory open; undefined if there is no such engine. */
export const runningUriOf = async (directory: string): Promise<string | undefined> => {
  const workingDirectory = process.cwd()
  if (!existsSync(directory)) return undefined
  // Socket paths must be short. The relative path is resolved before the call returns.
  process.chdir(directory)
  const question = askOwner(LOCK_SOCKET)
  process.chdir(workingDirectory)
  return (await question)?.address
}

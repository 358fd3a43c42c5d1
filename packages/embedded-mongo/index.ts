/** Starts the engine as a process of its own. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { isCrashSignal } from './storage/disk/data-directory.ts'
import { freeBytesOf, NEW_DATABASE_BYTES } from './storage/disk/file-access.ts'

export { restoreBackup } from './storage/disk/backup.ts'
export { runningUriOf } from './storage/disk/directory-lock.ts'
export { makeDirectory, UNWRITABLE_DISK_EXIT_CODE } from './storage/disk/file-access.ts'

export interface EmbeddedMongo {
  /** Without the name of a database. */
  uri: string
  pid: number
  /** Waits for running commands, closes the data and ends the process. Kills it after 10 seconds. */
  stop(): Promise<void>
  /** The exit code; -1 if a signal ended the process. */
  exited: Promise<number>
}

/** Puts the name of a database into a URI, such as `mongodb://user:password@a,b/other?options`. */
export const withDatabase = (uri: string, name: string): string =>
  uri.replace(/^(mongodb(?:\+srv)?:\/\/[^/?]+)\/?[^?]*/, `$1/${name}`)

/** Acknowledged writes are on disk, so killing a process that does not stop loses nothing. */
const STOP_TIMEOUT_MS = 10_000

type Message = { ready: true; uri: string } | { error: string }

/**
 * @param port a port of the loopback interface, which every local user can reach; by default a socket that only this user can open
 * @throws the engine's own message if it cannot start
 */
export const startEmbeddedMongo = async ({
  dataDir,
  port,
}: {
  dataDir: string
  port?: number
}): Promise<EmbeddedMongo> => {
  const main = fileURLToPath(new URL('./main.js', import.meta.url))
  const child = fork(
    main,
    ['--data', dataDir, ...(port === undefined ? ['--socket'] : ['--port', String(port)])],
    {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      execArgv: ['--enable-source-maps'],
    },
  )
  const exit = once(child, 'exit') as Promise<[code: number | null, signal: string | null]>
  const exited = exit.then(([code]) => code ?? -1)
  const message = await Promise.race([
    once(child, 'message').then(([first]) => first as Message),
    exit.then(([code, signal]): Message => ({ error: unexpectedEnd(dataDir, code, signal) })),
  ])
  if ('error' in message) throw new Error(message.error)
  child.stderr?.pipe(process.stderr)
  return {
    uri: message.uri,
    pid: child.pid ?? -1,
    exited,
    stop: async () => {
      if (child.connected) child.disconnect()
      const killing = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
      await exited
      clearTimeout(killing)
    },
  }
}

const unexpectedEnd = (dataDir: string, code: number | null, signal: string | null): string => {
  const how = signal ?? `code ${code}`
  const sentence = `the embedded engine ended with ${how} before it was ready, on data directory ${dataDir}`
  if (isCrashSignal(signal) && freeBytesOf(dataDir) < NEW_DATABASE_BYTES)
    return `${sentence}: its disk is full. Free space, then start again.`
  return isCrashSignal(signal)
    ? `${sentence}: its data.mdb is probably damaged. Restore a backup into an empty directory.`
    : sentence
}

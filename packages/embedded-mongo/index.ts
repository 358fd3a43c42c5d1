/** Starts the engine in a process of its own. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

export { restoreBackup } from './storage/disk/backup.ts'
export { addressOf } from './storage/disk/data-directory.ts'

export interface EmbeddedMongo {
  uri: string
  pid: number
  /** Finishes what runs, closes the data and ends the process; kills it when that takes more than 10 seconds. */
  stop(): Promise<void>
  /** The exit code, however it comes to end (-1: by a signal). */
  exited: Promise<number>
}

/** What was acknowledged is on disk: a process that does not stop loses nothing when it is killed. */
const PATIENCE_MS = 10_000

type Message = { ready: true; uri: string } | { error: string }

/** @throws the engine's own sentence when it cannot start */
export const startEmbeddedMongo = async ({
  dataDir,
  port = 0,
}: {
  dataDir: string
  port?: number
}): Promise<EmbeddedMongo> => {
  const main = fileURLToPath(new URL('./main.js', import.meta.url))
  const child = fork(main, ['--data', dataDir, '--port', String(port)], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    execArgv: ['--enable-source-maps'],
  })
  const exited = new Promise<number>((resolve) => child.once('exit', (code) => resolve(code ?? -1)))
  const message = await Promise.race([
    once(child, 'message').then(([first]) => first as Message),
    exited.then(
      (code): Message => ({ error: `the embedded engine ended with code ${code} before it was ready` }),
    ),
  ])
  if ('error' in message) throw new Error(message.error)
  child.stderr?.pipe(process.stderr)
  return {
    uri: message.uri,
    pid: child.pid ?? -1,
    exited,
    stop: async () => {
      if (child.connected) child.disconnect()
      const killing = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS)
      await exited
      clearTimeout(killing)
    },
  }
}

import { fork } from 'node:child_process'
import { createServer, type Server } from 'node:net'
import { fileURLToPath } from 'node:url'

/** With the socket itself, a service accepts so many connections and one more in each turn of the event loop. */
const COPIES = 31
/** Without copies the service works as well, but accepts less. */
const COPYING_TIMEOUT_MS = 5_000

const SCRIPT = fileURLToPath(new URL('return-handles.js', import.meta.url))

/**
 * Lets a server accept many connections in each turn of the event loop. Node accepts one for each listening socket,
 * and a busy service takes few turns a second: new clients would wait for seconds.
 *
 * A handle that another process returns is a copy. All copies take connections from one queue of the system.
 * @returns the copies, which end when they are closed, as the server does
 */
export async function addListeningCopies(server: Server): Promise<Server[]> {
  const accept = { allowHalfOpen: true, noDelay: true }
  return (await copyHandle(server)).map((handle) =>
    createServer(accept, (socket) => server.emit('connection', socket)).listen(handle),
  )
}

async function copyHandle(server: Server): Promise<object[]> {
  // Sending the server instead of its handle would make the other process accept connections, too.
  const { _handle: handle } = server as Server & { _handle?: object }
  const child = fork(SCRIPT, [String(COPIES)], { env: {}, execArgv: [], stdio: 'ignore' })
  const copies: object[] = []
  await new Promise<void>((resolve) => {
    child.on('message', (_, copy) => {
      if (copy) copies.push(copy)
      if (copies.length === COPIES) resolve()
    })
    child.once('error', () => resolve()).once('exit', () => resolve())
    child.send('copy', handle as never, () => {})
    setTimeout(resolve, COPYING_TIMEOUT_MS).unref()
  })
  child.kill()
  return copies
}

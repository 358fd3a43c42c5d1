/** The socket of an engine, in the data directory, which no other user can enter. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const SOCKET_NAME = 'engine.sock'
/** Operating systems limit the paths of sockets: Linux to 107 bytes, macOS to 103. */
const MAX_SOCKET_PATH_BYTES = 103

interface SocketPath {
  path: string
  /** Removes what the closed server leaves. */
  remove(): void
}

/** The path of the socket in the working directory, or in a directory of its own if the former is too long. */
export function prepareSocketPath(): SocketPath {
  const path = join(process.cwd(), SOCKET_NAME)
  if (Buffer.byteLength(path) <= MAX_SOCKET_PATH_BYTES) {
    // A killed process leaves its socket.
    rmSync(path, { force: true })
    return { path, remove: () => {} }
  }
  const directory = mkdtempSync(join(tmpdir(), 'embedded-mongo-'))
  return {
    path: join(directory, SOCKET_NAME),
    remove: () => rmSync(directory, { recursive: true, force: true }),
  }
}

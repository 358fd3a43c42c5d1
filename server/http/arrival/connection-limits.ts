import { readFileSync } from 'node:fs'
import type { Server } from 'node:http'
import { addressKey } from '../../../records/limits/rate-limiter.ts'

/** Connections of an address: more than the sockets for live queries that it may have, since many people may share it. */
const MAX_CONNECTIONS_PER_ADDRESS = 3_000
/** Files that the process may open besides, for the database, mails and itself. */
const RESERVED_FILES = 500

/**
 * Limits open connections, so that those of one address do not take the place of all others. Each takes one of the files
 * that the process may open.
 * @param isProxy whether an address is that of a proxy, which connects for many
 */
export function limitConnections(
  server: Server,
  isProxy: (address: string) => boolean,
  most = MAX_CONNECTIONS_PER_ADDRESS,
): void {
  server.maxConnections = Math.max(maxOpenFiles() - RESERVED_FILES, RESERVED_FILES)
  const counts = new Map<string, number>()
  server.prependListener('connection', (socket) => {
    const { remoteAddress } = socket
    if (remoteAddress === undefined || isProxy(remoteAddress)) return
    const address = addressKey(remoteAddress)
    const count = (counts.get(address) ?? 0) + 1
    counts.set(address, count)
    socket.once('close', () => {
      const left = (counts.get(address) ?? 1) - 1
      if (left === 0) counts.delete(address)
      else counts.set(address, left)
    })
    if (count > most) socket.destroy()
  })
}

/** The files that the process may open; Infinity where the system does not tell. */
function maxOpenFiles(): number {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return Number(soft ?? Infinity)
  } catch {
    return Infinity
  }
}

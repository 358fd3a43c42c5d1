import { readFileSync } from 'node:fs'
import type { Server } from 'node:http'
import { OpenCounts } from '../../../records/limits/open-counts.ts'
import { ipKey } from '../../../records/limits/rate-limiter.ts'

/** Connections of an address: more than the sockets for live queries that it may have, since many people may share it. */
const MAX_CONNECTIONS_PER_ADDRESS = 3_000
/** File descriptors reserved for the database, mails and the process itself. */
const RESERVED_FILES = 500

const defaultLimits = () => ({
  address: MAX_CONNECTIONS_PER_ADDRESS,
  all: Math.max(maxOpenFiles() - RESERVED_FILES, RESERVED_FILES),
})

/**
 * Limits open connections, so that those of one address do not take the place of all others. Each takes one of the files
 * that the process may open. It counts them itself, since they come from several listening sockets.
 * @param isProxy whether an address is that of a proxy, which connects for many
 */
export function limitConnections(
  server: Server,
  isProxy: (address: string) => boolean,
  limits = defaultLimits(),
): void {
  const counts = new OpenCounts()
  server.prependListener('connection', (socket) => {
    const { remoteAddress = '' } = socket
    const address = isProxy(remoteAddress) ? undefined : ipKey(remoteAddress)
    const isFull = counts.add('all') > limits.all
    const isFullForAddress = address !== undefined && counts.add(address) > limits.address
    socket.once('close', () => {
      counts.remove('all')
      if (address !== undefined) counts.remove(address)
    })
    if (isFull || isFullForAddress) socket.destroy()
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

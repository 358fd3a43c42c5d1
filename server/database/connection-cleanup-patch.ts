import { createRequire } from 'node:module'

interface Connection {
  cleanup(fault: Error): void
  socket: { emit(event: 'drain'): boolean }
}

const { Connection }: { Connection: { prototype: Connection } } = createRequire(import.meta.url)(
  'mongodb/lib/cmap/connection',
)
const { cleanup } = Connection.prototype

/**
 * The driver (7.1) waits for `drain` when it writes to a socket that was just destroyed. That event never
 * comes. If this write is the health check, the driver never checks again, and the service stays disconnected
 * after a restart of the database. This patch tells the waiting write that the connection is closed.
 */
Connection.prototype.cleanup = function (fault) {
  cleanup.call(this, fault)
  this.socket.emit('drain')
}

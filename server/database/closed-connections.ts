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
 * The driver (7.1) waits until a socket takes more when it writes to one that was destroyed an instant ago, which none
 * ever does. If that is its look whether the server is there, it never looks again, and the service stays without its
 * database after a restart of it. With this, who waits is told that the connection is closed.
 */
Connection.prototype.cleanup = function (fault) {
  cleanup.call(this, fault)
  this.socket.emit('drain')
}

import { randomUUID } from 'node:crypto'
import { type Server, STATUS_CODES } from 'node:http'
import { malformed } from '../path-api/answer/invalid-input.ts'
import { problem } from '../path-api/response/problem.ts'
import { ServiceError } from '../schemas/errors.ts'

/** Refuses in words what Node cannot read as a request, and would refuse with a bare status. */
export function refuseUnreadable(server: Server): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (!socket.writable || error.code === 'ECONNRESET') {
      socket.destroy()
      return
    }
    const refusal =
      error.code === 'HPE_HEADER_OVERFLOW'
        ? new ServiceError('HeadersTooLarge')
        : malformed('request', '', 'http', 'must be HTTP/1.1')
    const { status, headers, body } = problem(refusal, '/', randomUUID())
    const text = String(body)
    const all = { ...headers, 'content-length': Buffer.byteLength(text), connection: 'close' }
    const lines = Object.entries(all).map(([header, value]) => `${header}: ${value}`)
    socket.end([`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', text].join('\r\n'))
  })
}

import { randomUUID } from 'node:crypto'
import { type Server, STATUS_CODES } from 'node:http'
import { malformedInput } from '../../path-api/reply/invalid-input.ts'
import { createProblemResponse } from '../../path-api/response/problem-document.ts'
import { ServiceError } from '../../schemas/errors.ts'

/** The errors of Node's parser that do not mean malformed HTTP. */
const REFUSALS: Readonly<Record<string, () => ServiceError>> = {
  HPE_HEADER_OVERFLOW: () => new ServiceError('HeadersTooLarge'),
  ERR_HTTP_REQUEST_TIMEOUT: () => new ServiceError('RequestTimeout'),
}

/** The client may keep its half of the connection open for this long after a refusal. */
const REFUSED_SOCKET_TIMEOUT_MS = 1_000

/** Responds to malformed HTTP with an explanation; Node would send a bare status. */
export function rejectMalformedRequests(server: Server, pathPrefix: string): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (!socket.writable || error.code === 'ECONNRESET') {
      socket.destroy()
      return
    }
    const refusal =
      REFUSALS[error.code ?? '']?.() ?? malformedInput('request', '', 'http', 'must be HTTP/1.1')
    const { status, headers, body } = createProblemResponse(refusal, {
      path: '/',
      pathPrefix,
      requestId: randomUUID(),
    })
    const text = String(body)
    const all = { ...headers, 'content-length': Buffer.byteLength(text), connection: 'close' }
    const lines = Object.entries(all).map(([header, value]) => `${header}: ${value}`)
    socket.end([`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', text].join('\r\n'))
    setTimeout(() => socket.destroy(), REFUSED_SOCKET_TIMEOUT_MS).unref()
  })
}

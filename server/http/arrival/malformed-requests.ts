import { randomUUID } from 'node:crypto'
import { type Server, STATUS_CODES } from 'node:http'
import { malformedInput } from '../../../path-api/reply/invalid-input.ts'
import { createOperationOutcomeResponse, isFhirPath } from '../../../path-api/response/operation-outcome.ts'
import { createProblemResponse } from '../../../path-api/response/problem-document.ts'
import { ServiceError } from '../../../schemas/errors.ts'

/** The error of a body in chunks of a few bytes each. */
export const CHUNKS_TOO_SMALL = 'CHUNKS_TOO_SMALL'

/** The errors that do not mean malformed HTTP, most of them of Node's parser. */
const REFUSALS: Readonly<Record<string, () => ServiceError>> = {
  HPE_HEADER_OVERFLOW: () => new ServiceError('HeadersTooLarge'),
  ERR_HTTP_REQUEST_TIMEOUT: () => new ServiceError('RequestTimeout'),
  [CHUNKS_TOO_SMALL]: () =>
    malformedInput('body', '', 'chunks', 'must not have thousands of chunks of a few bytes'),
}

/** Enough to recognise the API to which a request belongs. */
const MAX_READ_PATH = 1_000

/** The client may keep its half of the connection open for this long after a refusal. */
const REFUSED_SOCKET_TIMEOUT_MS = 1_000

/** The path in a request line that Node's parser has read; empty if the packet does not begin with one. */
function pathIn(packet: Buffer | undefined, pathPrefix: string): string {
  const line = packet?.toString('latin1', 0, MAX_READ_PATH) ?? ''
  const [, path = ''] = /^[A-Z]+ ([^ ?\r\n]*)/.exec(line) ?? []
  return path.startsWith(pathPrefix) ? path.slice(pathPrefix.length) : ''
}

/** Responds to malformed HTTP with an explanation; Node would send a bare status. */
export function rejectMalformedRequests(server: Server, pathPrefix: string): void {
  server.on('clientError', (error: NodeJS.ErrnoException & { rawPacket?: Buffer }, socket) => {
    if (!socket.writable || error.code === 'ECONNRESET') {
      socket.destroy()
      return
    }
    const refusal =
      REFUSALS[error.code ?? '']?.() ?? malformedInput('request', '', 'http', 'must be HTTP/1.1')
    const { status, headers, body } = isFhirPath(pathIn(error.rawPacket, pathPrefix))
      ? createOperationOutcomeResponse(refusal)
      : createProblemResponse(refusal, { path: '/', pathPrefix, requestId: randomUUID() })
    const text = String(body)
    const sentHeaders = { ...headers, 'content-length': Buffer.byteLength(text), connection: 'close' }
    const lines = Object.entries(sentHeaders).map(([header, value]) => `${header}: ${value}`)
    socket.end([`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', text].join('\r\n'))
    setTimeout(() => socket.destroy(), REFUSED_SOCKET_TIMEOUT_MS).unref()
  })
}

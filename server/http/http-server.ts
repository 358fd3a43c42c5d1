import { createServer, IncomingMessage, type Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Express } from 'express'
import { joinBodyChunks } from './arrival/body-chunks.ts'
import { limitConnections } from './arrival/connection-limits.ts'
import { CHUNKS_TOO_SMALL, rejectMalformedRequests } from './arrival/malformed-requests.ts'
import { limitPipelining } from './arrival/pipelining.ts'

/** A request whose headers and body take longer to arrive is refused, so that slow clients hold no connection. */
export const REQUEST_ARRIVAL_TIMEOUT_MS = 30_000
/** Longer than the minute after which proxies drop idle connections, so that the proxy closes first. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000

/** Without a byte in or out, a connection is closed after this many of these timeouts: a request may wait, and run. */
const ARRIVAL_TIMEOUTS_WITHOUT_PROGRESS = 3

/** Creates the server of the service, which refuses malformed and slow requests, and clients that do not read. */
export function createHttpServer(
  app: Express,
  pathPrefix: string,
  requestTimeout = REQUEST_ARRIVAL_TIMEOUT_MS,
): Server {
  const server: Server = createServer(
    {
      ...createMessageClasses(app, (socket) =>
        server.emit('clientError', { code: CHUNKS_TOO_SMALL }, socket),
      ),
      requestTimeout,
      headersTimeout: requestTimeout,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
      connectionsCheckingInterval: requestTimeout / 10,
    },
    limitPipelining(app),
  )
  server.timeout = ARRIVAL_TIMEOUTS_WITHOUT_PROGRESS * requestTimeout
  limitConnections(server, (address) => app.get('trust proxy fn')?.(address, 0) ?? false)
  rejectMalformedRequests(server, pathPrefix)
  return server
}

/**
 * Creates the classes of the requests and responses of an app. Express gives each message its prototype. A message that has
 * the prototype already keeps the shape that all share; otherwise each has a shape of its own, and all code that reads it is
 * slower.
 */
function createMessageClasses(app: Express, refuseChunks: (socket: Socket) => void) {
  class AppRequest extends IncomingMessage {
    constructor(socket: Socket) {
      super(socket)
      joinBodyChunks(this, () => refuseChunks(socket))
    }
  }
  class AppResponse extends ServerResponse {}
  app.request = Object.setPrototypeOf(AppRequest.prototype, app.request)
  app.response = Object.setPrototypeOf(AppResponse.prototype, app.response)
  return { IncomingMessage: AppRequest, ServerResponse: AppResponse }
}

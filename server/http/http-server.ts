import { createServer, type RequestListener, type Server } from 'node:http'
import { rejectMalformedRequests } from './malformed-requests.ts'

/** A request whose headers and body take longer to arrive is refused, so that slow clients hold no connection. */
export const REQUEST_ARRIVAL_TIMEOUT_MS = 30_000
/** Longer than the minute after which proxies drop idle connections, so that the proxy closes first. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000

/** Creates the server of the service, which refuses malformed and slow requests. */
export function createHttpServer(
  app: RequestListener,
  pathPrefix: string,
  requestTimeout = REQUEST_ARRIVAL_TIMEOUT_MS,
): Server {
  const server = createServer(
    {
      requestTimeout,
      headersTimeout: requestTimeout,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
      connectionsCheckingInterval: requestTimeout / 10,
    },
    app,
  )
  rejectMalformedRequests(server, pathPrefix)
  return server
}

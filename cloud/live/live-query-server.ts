import { type IncomingMessage, type Server, ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Express, Request } from 'express'
import { type WebSocket, WebSocketServer } from 'ws'
import { ipKey, type RateLimiter } from '../../records/limits/rate-limiter.ts'
import { parseErrorCode } from '../http/request/parse-request.ts'
import { limitFrames, MAX_LIVE_MESSAGE_BYTES } from './frame-limits.ts'
import { CLOSE_CODES, LiveConnection } from './live-connection.ts'
import type { LiveQueries } from './live-queries.ts'

/** Maximum connections per address, all and unauthenticated. */
const MAX_CONNECTIONS_PER_ADDRESS = { all: 2_000, unknown: 100 }
const MAX_CONNECTIONS = 10_000
/** The first one is that of PUBLIC_URL with a path. */
const LIVE_QUERY_PATHS = ['', '/', '/1', '/1/']
/** Timeout for delivering unsent messages at shutdown. */
const CLOSE_TIMEOUT_MS = 2_000

interface LiveQueryServerDependencies {
  /** App whose `trust proxy` determines the client address. */
  app: Express
  consume: RateLimiter
  /** Permitted browser origins. */
  origins: readonly string[]
  /** undefined if live queries are disabled. */
  queries: LiveQueries | undefined
  /** Path of PUBLIC_URL, without a slash at its end. */
  pathPrefix: string
}

/** WebSocket server of live queries, on the port of the service. */
export class LiveQueryServer {
  readonly #dependencies: LiveQueryServerDependencies
  readonly #server = new WebSocketServer({
    noServer: true,
    clientTracking: true,
    maxPayload: MAX_LIVE_MESSAGE_BYTES,
    perMessageDeflate: false,
  })
  readonly #connections = new Set<LiveConnection>()

  constructor(parts: LiveQueryServerDependencies) {
    this.#dependencies = parts
  }

  serve(server: Server): void {
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      socket.on('error', () => socket.destroy())
      if (request.headers.upgrade?.toLowerCase() !== 'websocket')
        return serveWithoutUpgrade(server, request, socket)
      this.#checkUpgrade(request).then(
        (errorStatus) => {
          if (errorStatus !== undefined) return rejectUpgrade(socket, errorStatus)
          this.#server.handleUpgrade(request, socket, head, (webSocket) =>
            this.#accept(webSocket, socket, clientAddressOf(this.#dependencies, request)),
          )
        },
        () => rejectUpgrade(socket, 429),
      )
    })
  }

  /** Closes all connections at shutdown. */
  async end(): Promise<void> {
    const open = [...this.#server.clients]
    for (const socket of open) socket.close(CLOSE_CODES.goingAway)
    const closings = open.map((socket) => new Promise((resolve) => socket.once('close', resolve)))
    const impatience = setTimeout(() => {
      for (const socket of open) socket.terminate()
    }, CLOSE_TIMEOUT_MS)
    await Promise.all(closings)
    clearTimeout(impatience)
  }

  /** @returns the status of the error, or undefined to accept the socket */
  async #checkUpgrade(request: IncomingMessage): Promise<number | undefined> {
    const { consume, origins, pathPrefix } = this.#dependencies
    const { origin } = request.headers
    const [path = ''] = (request.url ?? '').split('?')
    const inner = path.startsWith(pathPrefix) ? path.slice(pathPrefix.length) : path
    if (!LIVE_QUERY_PATHS.includes(inner)) return 404
    if (origin !== undefined && !origins.includes(origin)) return 403
    const address = clientAddressOf(this.#dependencies, request)
    await consume('address', address)
    const connectionsOfAddress = [...this.#connections].filter((one) => one.address === address)
    const unknown = connectionsOfAddress.filter(({ authorId }) => authorId === undefined)
    const tooMany =
      this.#connections.size >= MAX_CONNECTIONS ||
      connectionsOfAddress.length >= MAX_CONNECTIONS_PER_ADDRESS.all ||
      unknown.length >= MAX_CONNECTIONS_PER_ADDRESS.unknown
    return tooMany ? 429 : undefined
  }

  #accept(socket: WebSocket, wire: Duplex, address: string): void {
    const { queries } = this.#dependencies
    if (!queries) {
      limitFrames(socket, wire, () => false)
      socket.on('error', () => {})
      const error = 'Live queries are not available in the open test environment'
      socket.send(JSON.stringify({ op: 'error', code: parseErrorCode.forbidden, error, reconnect: false }))
      socket.close(CLOSE_CODES.policy, error)
      return
    }
    const connection: LiveConnection = new LiveConnection(socket, address, {
      connect: (...parameters) => queries.connect(...parameters),
      subscribe: (...parameters) => queries.subscribe(...parameters),
      unsubscribe: (...parameters) => queries.unsubscribe(...parameters),
      onFailed: (fault) => queries.onFailed(fault),
      onClosed: (one) => {
        this.#connections.delete(one)
        queries.onClosed(one)
      },
    })
    limitFrames(socket, wire, () => connection.authorId !== undefined)
    this.#connections.add(connection)
  }
}

function clientAddressOf({ app }: LiveQueryServerDependencies, request: IncomingMessage): string {
  return ipKey((Object.setPrototypeOf(request, app.request) as Request).ip ?? '')
}

function rejectUpgrade(socket: Duplex, status: number): void {
  const retry = status === 429 ? 'Retry-After: 60\r\n' : ''
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${retry}Connection: close\r\nContent-Length: 0\r\n\r\n`,
  )
}

/** Serves a request for another protocol, such as HTTP/2, as ordinary HTTP/1.1. */
function serveWithoutUpgrade(server: Server, request: IncomingMessage, socket: Duplex): void {
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = request.headers
  if (length !== '0' || encoding !== undefined) {
    rejectUpgrade(socket, 400)
    return
  }
  const response = new ServerResponse(request)
  response.shouldKeepAlive = false
  response.assignSocket(socket as never)
  response.on('finish', () => socket.end())
  socket.on('timeout', () => socket.destroy())
  server.emit('request', request, response)
}

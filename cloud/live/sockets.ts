import { type IncomingMessage, type Server, ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Express, Request } from 'express'
import { type WebSocket, WebSocketServer } from 'ws'
import { counted, type Spend } from '../../records/limits/rate-limits.ts'
import { code } from '../gate/request/parse-request.ts'
import { CLOSE, Connection } from './connection.ts'
import type { LiveQueries } from './live-queries.ts'

/** Of a message; a query has as much. */
const LARGEST_FRAME = 256 * 1024
/** Connections from one address, and those of them of which nobody knows whose they are. */
const MOST_OF_ADDRESS = { all: 2_000, unknown: 100 }
const MOST = 10_000
const PATHS = ['/', '/1', '/1/']
/** For what has not been taken when the service stops. */
const GRACE_MS = 2_000

interface SocketParts {
  /** Whose `trust proxy` says what a client's address is. */
  app: Express
  spend: Spend
  /** Browser origins that may call. */
  origins: readonly string[]
  /** undefined: they are not offered. */
  queries: LiveQueries | undefined
}

/** The sockets of live queries, on the port of everything else. */
export class Sockets {
  readonly #parts: SocketParts
  readonly #server = new WebSocketServer({
    ...{ noServer: true, clientTracking: true, maxPayload: LARGEST_FRAME, perMessageDeflate: false },
  })
  readonly #connections = new Set<Connection>()

  constructor(parts: SocketParts) {
    this.#parts = parts
  }

  serve(server: Server): void {
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      socket.on('error', () => socket.destroy())
      if (request.headers.upgrade?.toLowerCase() !== 'websocket')
        return withoutUpgrade(server, request, socket)
      this.#admit(request).then(
        (refused) => {
          if (refused !== undefined) return refuse(socket, refused)
          this.#server.handleUpgrade(request, socket, head, (opened) =>
            this.#open(opened, addressOf(this.#parts, request)),
          )
        },
        () => refuse(socket, 429),
      )
    })
  }

  /** Tells all that the service goes. */
  async end(): Promise<void> {
    const open = [...this.#server.clients]
    for (const socket of open) socket.close(CLOSE.goingAway)
    const closed = open.map((socket) => new Promise((resolve) => socket.once('close', resolve)))
    const impatience = setTimeout(() => {
      for (const socket of open) socket.terminate()
    }, GRACE_MS)
    await Promise.all(closed)
    clearTimeout(impatience)
  }

  /** @returns the status with which a socket is refused */
  async #admit(request: IncomingMessage): Promise<number | undefined> {
    const { spend, origins } = this.#parts
    const { origin } = request.headers
    if (!PATHS.includes((request.url ?? '').split('?')[0] ?? '')) return 404
    if (origin !== undefined && !origins.includes(origin)) return 403
    const address = addressOf(this.#parts, request)
    await spend('address', address)
    const own = [...this.#connections].filter((one) => one.address === address)
    const unknown = own.filter(({ mvUid }) => mvUid === undefined)
    const tooMany =
      this.#connections.size >= MOST ||
      own.length >= MOST_OF_ADDRESS.all ||
      unknown.length >= MOST_OF_ADDRESS.unknown
    return tooMany ? 429 : undefined
  }

  #open(socket: WebSocket, address: string): void {
    const { queries } = this.#parts
    if (!queries) {
      socket.on('error', () => {})
      const error = 'Live queries are not offered in the open test environment'
      socket.send(JSON.stringify({ op: 'error', code: code.forbidden, error, reconnect: false }))
      socket.close(CLOSE.policy, error)
      return
    }
    const connection: Connection = new Connection(socket, address, {
      connect: (...all) => queries.connect(...all),
      subscribe: (...all) => queries.subscribe(...all),
      unsubscribe: (...all) => queries.unsubscribe(...all),
      failed: (fault) => queries.failed(fault),
      closed: (one) => {
        this.#connections.delete(one)
        queries.closed(one)
      },
    })
    this.#connections.add(connection)
  }
}

function addressOf({ app }: SocketParts, request: IncomingMessage): string {
  return counted((Object.setPrototypeOf(request, app.request) as Request).ip ?? '')
}

function refuse(socket: Duplex, status: number): void {
  const retry = status === 429 ? 'Retry-After: 60\r\n' : ''
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${retry}Connection: close\r\nContent-Length: 0\r\n\r\n`,
  )
}

/** What asks for another protocol, such as HTTP/2, is answered in this one. */
function withoutUpgrade(server: Server, request: IncomingMessage, socket: Duplex): void {
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = request.headers
  if (length !== '0' || encoding !== undefined) {
    refuse(socket, 400)
    return
  }
  const response = new ServerResponse(request)
  response.shouldKeepAlive = false
  response.assignSocket(socket as never)
  response.on('finish', () => socket.end())
  server.emit('request', request, response)
}

/** Connections: answers messages in order. Malformed bytes end their connection only. */
import { type AddressInfo, createServer, type ListenOptions, type Server, type Socket } from 'node:net'
import type { Engine } from '../storage/engine.ts'
import { releaseBuffer } from '../values/raw-documents.ts'
import { Dispatcher } from './dispatch.ts'
import { headOfReply, parseMessage, type Request, splitMessages } from './messages.ts'
import { prepareSocketPath } from './socket-path.ts'

export class MongoServer {
  readonly #engine: Engine
  readonly #server: Server
  readonly #dispatcher: Dispatcher
  readonly #sockets = new Map<Socket, Promise<void>>()
  #connections = 0
  #removeSocket = () => {}

  constructor(engine: Engine) {
    this.#engine = engine
    this.#dispatcher = new Dispatcher(engine)
    this.#server = createServer({ noDelay: true }, (socket) => this.#accept(socket))
  }

  /** Listens on the loopback interface. @returns the URI */
  async listenOnPort(port: number): Promise<string> {
    await this.#listen({ port, host: '127.0.0.1' })
    const { port: boundPort } = this.#server.address() as AddressInfo
    this.#engine.address = `127.0.0.1:${boundPort}`
    return `mongodb://${this.#engine.address}`
  }

  /** Listens on a socket that only this user can open. @returns the URI */
  async listenOnSocket(): Promise<string> {
    const { path, remove } = prepareSocketPath()
    this.#removeSocket = remove
    await this.#listen({ path })
    this.#engine.address = path
    // Drivers write the names of a replica set's hosts in lower case, so they must not look for this one by its name.
    return `mongodb://${encodeURIComponent(path)}/?directConnection=true`
  }

  #listen(options: ListenOptions): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(options, resolve)
    })
  }

  #accept(socket: Socket): void {
    const connectionId = ++this.#connections
    let rest: Buffer[] = []
    let messageSize = 0
    let size = 0
    this.#sockets.set(socket, Promise.resolve())
    this.#engine.clients.set(connectionId, addressOf(socket))
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      this.#sockets.delete(socket)
      this.#engine.clients.delete(connectionId)
      this.#engine.applications.delete(connectionId)
      this.#engine.transactions.abortAll(connectionId)
    })
    socket.on('data', (chunk) => {
      rest.push(chunk)
      size += chunk.length
      if (size < messageSize) return
      try {
        const bytes = rest.length === 1 ? (rest[0] as Buffer) : Buffer.concat(rest)
        const splitResult = splitMessages(bytes)
        rest = splitResult.rest.length > 0 ? [splitResult.rest] : []
        size = splitResult.rest.length
        messageSize = size >= 4 ? splitResult.rest.readInt32LE(0) : 0
        for (const request of splitResult.messages.map(parseMessage))
          this.#enqueue(socket, request, connectionId)
      } catch {
        socket.destroy()
      }
    })
  }

  /** Runs a connection's requests one after the other. */
  #enqueue(socket: Socket, request: Request, connectionId: number): void {
    const before = this.#sockets.get(socket) ?? Promise.resolve()
    const answer = before.then(async () => {
      if (socket.destroyed) return
      const reply = await this.#dispatcher.run(request, connectionId)
      if (request.silent || socket.destroyed) return
      send(socket, headOfReply(request, reply.length), reply)
    })
    this.#sockets.set(socket, answer.catch(() => socket.destroy()) as Promise<void>)
  }

  /**
   * Stops accepting requests, aborts transactions, since others may wait for them, waits for running
   * commands, and closes.
   */
  async close(): Promise<void> {
    this.#engine.transactions.abortAll()
    const serverClose = new Promise((resolve) => this.#server.close(resolve))
    for (const socket of this.#sockets.keys()) socket.pause()
    await Promise.all(this.#sockets.values())
    for (const socket of this.#sockets.keys()) socket.destroySoon()
    await serverClose
    this.#removeSocket()
  }
}

/** The client's address; as in MongoDB, clients of a socket have none. */
const addressOf = ({ remoteAddress, remotePort }: Socket): string =>
  remoteAddress === undefined ? 'anonymous unix socket' : `${remoteAddress}:${remotePort}`

/** Copying more bytes than this takes longer than sending them in two pieces. */
const LONG = 2 ** 14

function send(socket: Socket, head: Buffer, reply: Buffer): void {
  if (reply.length < LONG) {
    socket.write(Buffer.concat([head, reply]))
    releaseBuffer(reply)
    return
  }
  socket.cork()
  socket.write(head)
  socket.write(reply, () => releaseBuffer(reply))
  socket.uncork()
}

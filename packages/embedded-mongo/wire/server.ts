/** Connections: answers messages in order. Malformed bytes end their connection only. */
import { createServer, type Server, type Socket } from 'node:net'
import type { Engine } from '../storage/engine.ts'
import { releaseBuffer } from '../values/raw-documents.ts'
import { Dispatcher } from './dispatch.ts'
import { headOfReply, parseMessage, type Request, splitMessages } from './messages.ts'

export class MongoServer {
  readonly #engine: Engine
  readonly #server: Server
  readonly #dispatcher: Dispatcher
  readonly #sockets = new Map<Socket, Promise<void>>()
  #connections = 0

  constructor(engine: Engine) {
    this.#engine = engine
    this.#dispatcher = new Dispatcher(engine)
    this.#server = createServer({ noDelay: true }, (socket) => this.#accept(socket))
  }

  /** Listens on the loopback interface and returns the port. */
  listen(port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(port, '127.0.0.1', () => {
        const address = this.#server.address()
        const bound = typeof address === 'object' && address ? address.port : port
        this.#engine.address = `127.0.0.1:${bound}`
        resolve(bound)
      })
    })
  }

  #accept(socket: Socket): void {
    const connectionId = ++this.#connections
    let rest: Buffer[] = []
    let messageSize = 0
    let size = 0
    this.#sockets.set(socket, Promise.resolve())
    this.#engine.clients.set(connectionId, `${socket.remoteAddress}:${socket.remotePort}`)
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
  }
}

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

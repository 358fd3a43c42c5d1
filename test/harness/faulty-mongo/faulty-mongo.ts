import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Document } from 'mongodb'
import { closeAtEnd, databaseUri } from '../run.ts'
import { commandOf, createReply, replyDocumentOf, splitMessages } from './wire-messages.ts'

/**
 * A fault of one command: no answer, an answer in place of the server's, a changed answer, or a broken
 * connection. The connection breaks before the command arrives, after it has been carried out, or within its
 * answer.
 */
export type Fault =
  | { silence: true }
  | { answer: Document }
  | { change: (answer: Document) => Document }
  | { cut: 'before' | 'after' | 'within' }

/** A proxy for a server that poses as the primary of a replica set, and fails on command. */
interface FaultyMongo {
  /** Without a database name; known when the block's tests begin. */
  readonly uri: string
  /** Called for each command except greetings. */
  findFault: (command: Document) => Fault | undefined
  /** Changes the answer to a greeting. */
  greeting: (answer: Document) => Document
  /** The time after which the server behind it notices that a client's connection is gone. */
  lingerMs: number
  /** Refuses connections and closes existing ones until `comeBack`. */
  stopListening(): Promise<void>
  resumeListening(): Promise<void>
}

/** Starts a proxy for the tests of a block and their hooks, in front of the shared database. */
export function startFaultyMongoForBlock(): FaultyMongo {
  const [, hostname = '', port = '27017'] =
    /^mongodb:\/\/(?:[^@/]*@)?([^:,/]+)(?::(\d+))?/.exec(databaseUri('')) ?? []
  const clients = new Set<Socket>()
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connect(
      hostname.endsWith('.sock')
        ? { path: decodeURIComponent(hostname) }
        : { host: hostname, port: Number(port), noDelay: true },
    )
    clients.add(client.on('close', () => clients.delete(client)))
    relayMessages(faulty, client, upstream)
  })
  let own = 0
  const listen = async () => {
    await once(server.listen(own, '127.0.0.1'), 'listening')
    own = (server.address() as AddressInfo).port
  }
  const stop = async () => {
    const closed = new Promise((resolve) => server.close(resolve))
    for (const client of clients) client.destroy()
    await closed
  }
  const host = () => `127.0.0.1:${own}`
  const faulty: FaultyMongo = {
    get uri() {
      return `mongodb://${host()}`
    },
    findFault: () => undefined,
    greeting: (answer) => ({ ...answer, hosts: [host()], me: host(), primary: host() }),
    lingerMs: 0,
    stopListening: stop,
    resumeListening: listen,
  }
  before(listen)
  // After the run, not after the block, because the block still stops services that use the proxy.
  closeAtEnd(async () => {
    if (server.listening) await stop()
  })
  return faulty
}

const GREETING_COMMANDS = new Set(['hello', 'isMaster', 'ismaster'])

interface RelayedCommand {
  request: Buffer
  fault: Fault | undefined
  greets: boolean
}

function relayMessages(faulty: FaultyMongo, client: Socket, upstream: Socket): void {
  const relayed: RelayedCommand[] = []
  for (const socket of [client, upstream]) socket.on('error', () => socket.destroy())
  client.on('close', () => {
    upstream.unref()
    setTimeout(() => upstream.destroy(), faulty.lingerMs).unref()
  })
  upstream.on('close', () => client.destroy())
  forEachMessage(client, (request) => {
    const command = commandOf(request)
    const greets = GREETING_COMMANDS.has(Object.keys(command)[0] ?? '')
    const fault = greets ? undefined : faulty.findFault(command)
    if (fault && 'silence' in fault) return
    if (fault && 'answer' in fault) return void client.write(createReply(request, fault.answer))
    if (fault && 'cut' in fault && fault.cut === 'before') return void client.destroy()
    relayed.push({ request, fault, greets })
    upstream.write(request)
  })
  forEachMessage(upstream, (answer) => {
    const { request, fault, greets } = relayed.shift() as RelayedCommand
    if (greets) client.write(createReply(request, faulty.greeting(replyDocumentOf(answer))))
    else if (!fault) client.write(answer)
    else if ('change' in fault) client.write(createReply(request, fault.change(replyDocumentOf(answer))))
    else if ('cut' in fault && fault.cut === 'within') client.end(answer.subarray(0, answer.length >> 1))
    else client.destroy()
  })
}

function forEachMessage(socket: Socket, take: (message: Buffer) => void): void {
  let rest: Buffer = Buffer.alloc(0)
  socket.on('data', (chunk) => {
    const bytes = splitMessages(Buffer.concat([rest, chunk]))
    rest = bytes.rest
    for (const message of bytes.messages) take(message)
  })
}

import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Document } from 'mongodb'
import { atEnd, databaseUri } from '../run.ts'
import { answerOf, answerTo, commandOf, split } from './messages.ts'

/**
 * What happens to a command: it is never answered, it is answered in the server's place, its answer is changed, or the
 * connection breaks: before the command arrives, when it has been done, or in the middle of its answer.
 */
export type Fault =
  | { silence: true }
  | { answer: Document }
  | { change: (answer: Document) => Document }
  | { cut: 'before' | 'after' | 'within' }

/** A server that stands before another one, poses as the primary of a replica set, and fails as it is told. */
interface FaultyMongo {
  /** Without a database's name; known when the block's tests begin. */
  readonly uri: string
  /** Asked about each command but greetings. */
  fault: (command: Document) => Fault | undefined
  /** How a greeting is answered. */
  greeting: (answer: Document) => Document
  /** How long the server behind it does not hear that a client's connection is gone. */
  lingerMs: number
  /** Refuses connections, and ends those that are there, until `comeBack`. */
  goAway(): Promise<void>
  comeBack(): Promise<void>
}

/** One for the tests of a block, before the database that the run shares; to be used in them and in their hooks. */
export function faultyMongoOfBlock(): FaultyMongo {
  const [, hostname = '', port = '27017'] =
    /^mongodb:\/\/(?:[^@/]*@)?([^:,/]+)(?::(\d+))?/.exec(databaseUri('')) ?? []
  const clients = new Set<Socket>()
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ host: hostname, port: Number(port), noDelay: true })
    clients.add(client.on('close', () => clients.delete(client)))
    relay(faulty, client, upstream)
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
    fault: () => undefined,
    greeting: (answer) => ({ ...answer, hosts: [host()], me: host(), primary: host() }),
    lingerMs: 0,
    goAway: stop,
    comeBack: listen,
  }
  before(listen)
  // Not after the block: it still has to stop what goes through this.
  atEnd(async () => {
    if (server.listening) await stop()
  })
  return faulty
}

const greetings = new Set(['hello', 'isMaster', 'ismaster'])

interface Relayed {
  request: Buffer
  fault: Fault | undefined
  greets: boolean
}

function relay(faulty: FaultyMongo, client: Socket, upstream: Socket): void {
  const relayed: Relayed[] = []
  for (const socket of [client, upstream]) socket.on('error', () => socket.destroy())
  client.on('close', () => {
    upstream.unref()
    setTimeout(() => upstream.destroy(), faulty.lingerMs).unref()
  })
  upstream.on('close', () => client.destroy())
  eachMessage(client, (request) => {
    const command = commandOf(request)
    const greets = greetings.has(Object.keys(command)[0] ?? '')
    const fault = greets ? undefined : faulty.fault(command)
    if (fault && 'silence' in fault) return
    if (fault && 'answer' in fault) return void client.write(answerTo(request, fault.answer))
    if (fault && 'cut' in fault && fault.cut === 'before') return void client.destroy()
    relayed.push({ request, fault, greets })
    upstream.write(request)
  })
  eachMessage(upstream, (answer) => {
    const { request, fault, greets } = relayed.shift() as Relayed
    if (greets) client.write(answerTo(request, faulty.greeting(answerOf(answer))))
    else if (!fault) client.write(answer)
    else if ('change' in fault) client.write(answerTo(request, fault.change(answerOf(answer))))
    else if ('cut' in fault && fault.cut === 'within') client.end(answer.subarray(0, answer.length >> 1))
    else client.destroy()
  })
}

function eachMessage(socket: Socket, take: (message: Buffer) => void): void {
  let rest: Buffer = Buffer.alloc(0)
  socket.on('data', (chunk) => {
    const bytes = split(Buffer.concat([rest, chunk]))
    rest = bytes.rest
    for (const message of bytes.messages) take(message)
  })
}

import { randomUUID } from 'node:crypto'
import type { WebSocket } from 'ws'
import { ServiceError } from '../../schemas/errors.ts'
import { code, Refusal } from '../gate/request/parse-request.ts'

type Message = Record<string, unknown>

/** What clients ask of a connection. */
export interface Answering {
  /** @throws Refusal for who has no right to connect */
  connect(connection: Connection, message: Message): Promise<void>
  /** @throws Refusal */
  subscribe(connection: Connection, requestId: number, message: Message): Promise<void>
  unsubscribe(connection: Connection, requestId: number): void
  closed(connection: Connection): void
  /** Something went wrong that nobody was refused for. */
  failed(fault: unknown): void
}

/** How long a connection may take to show whose it is. */
const UNKNOWN_MS = 5_000
/** What a client has not taken yet; more, and it is not waited for. */
const MOST_UNSENT = 1024 * 1024
/** Messages that wait for their turn. */
const MOST_WAITING = 100
const SHOW_LIFE_MS = 30_000

/** RFC 6455. */
export const CLOSE = { goingAway: 1001, policy: 1008, tryAgain: 1013 } as const

/** A socket of an SDK, in Parse's protocol for live queries: one message after the other. */
export class Connection {
  readonly id = randomUUID()
  readonly address: string
  readonly #socket: WebSocket
  readonly #answering: Answering
  readonly #unknown: NodeJS.Timeout
  readonly #life: NodeJS.Timeout
  #connected = false
  #waiting = 0
  #turn: Promise<void> = Promise.resolve()
  installationId: unknown
  /** The token that stands for subscriptions without one. */
  sessionToken: string | undefined
  /** Whose it is, once that is known. */
  mvUid: string | undefined

  constructor(socket: WebSocket, address: string, answering: Answering) {
    this.#socket = socket
    this.address = address
    this.#answering = answering
    this.#unknown = setTimeout(() => this.close(CLOSE.policy, 'No session'), UNKNOWN_MS)
    let alive = true
    this.#life = setInterval(() => {
      if (!alive) return socket.terminate()
      alive = false
      socket.ping()
    }, SHOW_LIFE_MS)
    socket.on('pong', () => {
      alive = true
    })
    // What is too large, or no frame, has been answered by then.
    socket.on('error', () => {})
    socket.on('close', () => {
      clearTimeout(this.#unknown)
      clearInterval(this.#life)
      answering.closed(this)
    })
    socket.on('message', (data, isBinary) => this.#take(isBinary ? '' : String(data)))
  }

  /** It is known whose it is. */
  known(mvUid: string): void {
    this.mvUid = mvUid
    clearTimeout(this.#unknown)
  }

  send(message: Message): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return
    const { id: clientId, installationId } = this
    if (this.#socket.bufferedAmount > MOST_UNSENT) this.#socket.terminate()
    else this.#socket.send(JSON.stringify({ clientId, installationId, ...message }))
  }

  /** SDKs that are told not to do not try again. */
  refuse(error: unknown, requestId?: number): void {
    const about = requestId === undefined ? {} : { requestId }
    this.send({ op: 'error', ...faultOf(error), reconnect: false, ...about })
  }

  close(reason: number, text = ''): void {
    this.#socket.close(reason, text)
    setTimeout(() => this.#socket.terminate(), 1000).unref()
  }

  #take(text: string): void {
    this.#waiting += 1
    if (this.#waiting > MOST_WAITING) this.close(CLOSE.policy, 'Too many messages')
    else
      this.#turn = this.#turn
        .then(() => this.#answer(text))
        .finally(() => {
          this.#waiting -= 1
        })
  }

  async #answer(text: string): Promise<void> {
    let requestId: number | undefined
    try {
      const message = read(text)
      if (message.op === 'connect') return await this.#connect(message)
      requestId = requestIdIn(message)
      if (!this.#connected) throw new Refusal(400, code.forbidden, 'Connect first')
      if (message.op === 'unsubscribe') {
        this.#answering.unsubscribe(this, requestId)
        this.send({ op: 'unsubscribed', requestId })
      } else if (message.op === 'subscribe' || message.op === 'update') {
        this.#answering.unsubscribe(this, requestId)
        await this.#answering.subscribe(this, requestId, message)
      } else throw new Refusal(400, code.forbidden, 'There is no such op')
    } catch (error) {
      this.#fail(error, requestId)
    }
  }

  #fail(error: unknown, requestId?: number): void {
    this.refuse(error, requestId)
    if (!(error instanceof Refusal || error instanceof ServiceError)) this.#answering.failed(error)
  }

  async #connect(message: Message): Promise<void> {
    try {
      await this.#answering.connect(this, message)
      this.#connected = true
      this.send({ op: 'connected' })
    } catch (error) {
      this.#fail(error)
      this.close(CLOSE.policy, faultOf(error).error)
    }
  }
}

function read(text: string): Message {
  try {
    const message = JSON.parse(text)
    if (typeof message === 'object' && message !== null && !Array.isArray(message)) return message
  } catch {
    // Refused with the rest.
  }
  throw new Refusal(400, code.invalidJson, 'A message is a JSON object')
}

function requestIdIn({ requestId }: Message): number {
  if (Number.isSafeInteger(requestId)) return requestId as number
  throw new Refusal(400, code.invalidJson, 'requestId must be a whole number')
}

function faultOf(error: unknown): { code: number; error: string } {
  if (error instanceof Refusal) return { code: error.code, error: error.message }
  if (error instanceof ServiceError && error.error === 'TooManyRequests')
    return { code: code.tooManyRequests, error: 'Too many requests' }
  return { code: code.internal, error: 'Temporarily unavailable' }
}

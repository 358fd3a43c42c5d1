import { randomUUID } from 'node:crypto'
import type { WebSocket } from 'ws'
import { ServiceError } from '../../schemas/errors.ts'
import { parseUnambiguousJson, RepeatedNamesError } from '../../schemas/json/repeated-names.ts'
import { parseErrorCode, Refusal } from '../http/request/parse-request.ts'

type Message = Record<string, unknown>

/** Handles the messages of clients. */
export interface ConnectionHandler {
  /** @throws Refusal for a client without permission to connect */
  connect(connection: LiveConnection, message: Message): Promise<void>
  /** @throws Refusal */
  subscribe(connection: LiveConnection, requestId: number, message: Message): Promise<void>
  unsubscribe(connection: LiveConnection, requestId: number): void
  onClosed(connection: LiveConnection): void
  /** Reports unexpected errors. */
  onFailed(fault: unknown): void
}

/** Timeout for the authentication of a connection. */
const AUTHENTICATION_TIMEOUT_MS = 5_000
/** Limit of unsent bytes; a slower client is disconnected. */
const MAX_UNSENT_BYTES = 1024 * 1024
/** Limit of queued messages. */
const MAX_QUEUED_MESSAGES = 100
const PING_INTERVAL_MS = 30_000
const UNKNOWN_OP_MESSAGE = 'op must be connect, subscribe, update or unsubscribe.'

/** WebSocket close codes (RFC 6455). */
export const CLOSE_CODES = { goingAway: 1001, policy: 1008, tryAgain: 1013 } as const

/** Connection of an SDK in Parse's protocol for live queries. Handles its messages one by one. */
export class LiveConnection {
  readonly id = randomUUID()
  readonly address: string
  readonly #socket: WebSocket
  readonly #handler: ConnectionHandler
  readonly #authenticationTimer: NodeJS.Timeout
  readonly #pingTimer: NodeJS.Timeout
  #connected = false
  #queuedMessages = 0
  #lastMessage: Promise<void> = Promise.resolve()
  installationId: unknown
  /** Session token for subscriptions without their own. */
  sessionToken: string | undefined
  /** The user after authentication; a helper who acts for one. */
  authorId: string | undefined

  constructor(socket: WebSocket, address: string, answering: ConnectionHandler) {
    this.#socket = socket
    this.address = address
    this.#handler = answering
    this.#authenticationTimer = setTimeout(
      () => this.close(CLOSE_CODES.policy, 'No session token arrived in time'),
      AUTHENTICATION_TIMEOUT_MS,
    )
    let alive = true
    this.#pingTimer = setInterval(() => {
      if (!alive) return socket.terminate()
      alive = false
      socket.ping()
    }, PING_INTERVAL_MS)
    socket.on('pong', () => {
      alive = true
    })
    // The library has already responded to oversized and invalid frames.
    socket.on('error', () => {})
    socket.on('close', () => {
      clearTimeout(this.#authenticationTimer)
      clearInterval(this.#pingTimer)
      answering.onClosed(this)
    })
    socket.on('message', (data, isBinary) => this.#enqueue(isBinary ? '' : String(data)))
  }

  /** Records the user and ends the authentication timeout. */
  authenticate(authorId: string): void {
    this.authorId = authorId
    clearTimeout(this.#authenticationTimer)
  }

  send(message: Message): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return
    const { id: clientId, installationId } = this
    if (this.#socket.bufferedAmount > MAX_UNSENT_BYTES) this.#socket.terminate()
    else this.#socket.send(JSON.stringify({ clientId, installationId, ...message }))
  }

  /** Sends an error that keeps SDKs from reconnecting. */
  sendError(error: unknown, requestId?: number): void {
    const requestFields = requestId === undefined ? {} : { requestId }
    this.send({ op: 'error', ...toErrorBody(error), reconnect: false, ...requestFields })
  }

  close(reason: number, text = ''): void {
    this.#socket.close(reason, text)
    setTimeout(() => this.#socket.terminate(), 1000).unref()
  }

  #enqueue(text: string): void {
    this.#queuedMessages += 1
    if (this.#queuedMessages > MAX_QUEUED_MESSAGES)
      this.close(CLOSE_CODES.policy, 'Too many unanswered messages')
    else
      this.#lastMessage = this.#lastMessage
        .then(() => this.#handleMessage(text))
        .finally(() => {
          this.#queuedMessages -= 1
        })
  }

  async #handleMessage(text: string): Promise<void> {
    let requestId: number | undefined
    try {
      const message = parseMessage(text)
      if (message.op === 'connect') return await this.#connect(message)
      requestId = requestIdOf(message)
      if (!this.#connected)
        throw new Refusal(400, parseErrorCode.forbidden, 'The first message must have the op "connect".')
      if (message.op === 'unsubscribe') {
        this.#handler.unsubscribe(this, requestId)
        this.send({ op: 'unsubscribed', requestId })
      } else if (message.op === 'subscribe' || message.op === 'update') {
        this.#handler.unsubscribe(this, requestId)
        await this.#handler.subscribe(this, requestId, message)
      } else throw new Refusal(400, parseErrorCode.forbidden, UNKNOWN_OP_MESSAGE)
    } catch (error) {
      this.#reportError(error, requestId)
    }
  }

  #reportError(error: unknown, requestId?: number): void {
    this.sendError(error, requestId)
    if (!(error instanceof Refusal || error instanceof ServiceError)) this.#handler.onFailed(error)
  }

  async #connect(message: Message): Promise<void> {
    try {
      await this.#handler.connect(this, message)
      this.#connected = true
      this.send({ op: 'connected' })
    } catch (error) {
      this.#reportError(error)
      this.close(CLOSE_CODES.policy, toErrorBody(error).error)
    }
  }
}

function parseMessage(text: string): Message {
  try {
    const message = parseUnambiguousJson(text)
    if (typeof message === 'object' && message !== null && !Array.isArray(message)) return message as Message
  } catch (error) {
    if (error instanceof RepeatedNamesError)
      throw new Refusal(400, parseErrorCode.invalidJson, `The message has ${error.message}.`)
    // Handled below like other invalid messages.
  }
  throw new Refusal(400, parseErrorCode.invalidJson, 'A message must be a JSON object.')
}

function requestIdOf({ requestId }: Message): number {
  if (Number.isSafeInteger(requestId)) return requestId as number
  throw new Refusal(400, parseErrorCode.invalidJson, 'requestId must be a whole number.')
}

function toErrorBody(error: unknown): { code: number; error: string } {
  if (error instanceof Refusal) return { code: error.code, error: error.message }
  if (error instanceof ServiceError && error.error === 'TooManyRequests')
    return { code: parseErrorCode.tooManyRequests, error: 'Too many requests. Try again in a minute.' }
  return { code: parseErrorCode.internal, error: 'Temporarily unavailable' }
}

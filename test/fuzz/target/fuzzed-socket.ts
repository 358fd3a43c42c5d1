import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket } from 'ws'

/** Silence of this length is a finding. */
const FRAME_TIMEOUT_MS = 5_000
/** The operations that answer a frame; others are events. */
const RESPONSE_OPS = new Set<unknown>(['connected', 'subscribed', 'unsubscribed', 'error'])

export interface ReceivedMessage {
  text: string
  /** Undefined if the message is not JSON. */
  message: { op?: unknown; code?: unknown; requestId?: unknown } | undefined
}

const parseMessage = (text: string): ReceivedMessage => {
  try {
    return { text, message: JSON.parse(text) }
  } catch {
    return { text, message: undefined }
  }
}

/** A socket of live queries for any frames. */
export class FuzzedSocket {
  readonly #socket: WebSocket
  #heard: ReceivedMessage[] = []
  #answers = 0
  #news: () => void = () => {}

  private constructor(socket: WebSocket) {
    this.#socket = socket
    socket.on('message', (data) => {
      const heard = parseMessage(String(data))
      this.#heard.push(heard)
      if (RESPONSE_OPS.has(heard.message?.op)) this.#answers += 1
      this.#news()
    })
    socket.on('close', () => this.#news())
  }

  /** @returns undefined if the connection was refused */
  static async open(url: string): Promise<FuzzedSocket | undefined> {
    const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/1`)
    const opened = new FuzzedSocket(socket)
    // Every error closes the socket.
    socket.on('error', () => {})
    await new Promise((resolve) => socket.once('open', resolve).once('close', resolve))
    return opened.isOpen ? opened : undefined
  }

  get isOpen(): boolean {
    return this.#socket.readyState === WebSocket.OPEN
  }

  /**
   * Sends frames and waits until each is answered, or the socket is closed.
   * @returns the received messages, and whether all answers arrived in time
   */
  async exchange(
    frames: readonly (string | Buffer)[],
  ): Promise<{ heard: ReceivedMessage[]; inTime: boolean }> {
    this.#answers = 0
    for (const frame of frames) this.#socket.send(frame, () => {})
    const end = performance.now() + FRAME_TIMEOUT_MS
    const isDone = () => this.#answers >= frames.length || this.#socket.readyState === WebSocket.CLOSED
    while (!isDone() && performance.now() < end)
      await Promise.race([
        new Promise<void>((resolve) => (this.#news = resolve)),
        sleep(FRAME_TIMEOUT_MS / 5),
      ])
    const heard = this.#heard
    this.#heard = []
    return { heard, inTime: isDone() }
  }

  /** @returns whether the service closes it by itself within that time */
  async closesIn(ms: number): Promise<boolean> {
    if (this.#socket.readyState === WebSocket.CLOSED) return true
    const waiting = new AbortController()
    const { signal } = waiting
    const closed = once(this.#socket, 'close', { signal }).then(() => true)
    const isClosed = await Promise.race([closed, sleep(ms, false, { signal })])
    waiting.abort()
    closed.catch(() => {})
    return isClosed
  }

  end(): void {
    this.#socket.terminate()
  }
}

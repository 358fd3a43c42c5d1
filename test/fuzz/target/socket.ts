import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket } from 'ws'

/** Silence of this length is a finding. */
const patienceMs = 5_000
/** What answers a frame; anything else is an event. */
const ANSWERS = new Set<unknown>(['connected', 'subscribed', 'unsubscribed', 'error'])

export interface Heard {
  text: string
  /** Undefined when it is no JSON. */
  message: { op?: unknown; code?: unknown; requestId?: unknown } | undefined
}

const read = (text: string): Heard => {
  try {
    return { text, message: JSON.parse(text) }
  } catch {
    return { text, message: undefined }
  }
}

/** A socket of live queries on which anything is sent. */
export class FuzzedSocket {
  readonly #socket: WebSocket
  #heard: Heard[] = []
  #answers = 0
  #news: () => void = () => {}

  private constructor(socket: WebSocket) {
    this.#socket = socket
    socket.on('message', (data) => {
      const heard = read(String(data))
      this.#heard.push(heard)
      if (ANSWERS.has(heard.message?.op)) this.#answers += 1
      this.#news()
    })
    socket.on('close', () => this.#news())
  }

  /** @returns nothing when it was refused */
  static async open(url: string): Promise<FuzzedSocket | undefined> {
    const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/1`)
    const opened = new FuzzedSocket(socket)
    // Whatever goes wrong closes it.
    socket.on('error', () => {})
    await new Promise((resolve) => socket.once('open', resolve).once('close', resolve))
    return opened.isOpen ? opened : undefined
  }

  get isOpen(): boolean {
    return this.#socket.readyState === WebSocket.OPEN
  }

  /**
   * Sends frames and waits until each is answered, or the socket is closed.
   * @returns what was heard meanwhile, and whether that was all in time
   */
  async exchange(frames: readonly (string | Buffer)[]): Promise<{ heard: Heard[]; inTime: boolean }> {
    this.#answers = 0
    for (const frame of frames) this.#socket.send(frame, () => {})
    const end = performance.now() + patienceMs
    const isDone = () => this.#answers >= frames.length || this.#socket.readyState === WebSocket.CLOSED
    while (!isDone() && performance.now() < end)
      await Promise.race([new Promise<void>((resolve) => (this.#news = resolve)), sleep(patienceMs / 5)])
    const heard = this.#heard
    this.#heard = []
    return { heard, inTime: isDone() }
  }

  /** @returns whether the service closes it by itself in that time */
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

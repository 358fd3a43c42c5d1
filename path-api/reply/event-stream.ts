import { once } from 'node:events'
import { Readable } from 'node:stream'
import type { TSchema } from '@sinclair/typebox'
import { RawBody } from './body-media.ts'

/** A stream of Server-Sent Events; `data` is the schema of their JSON. */
export class EventStreamBody extends RawBody {
  readonly data: TSchema
  constructor(data: TSchema) {
    super(['text/event-stream'])
    this.data = data
  }
}

/** Limit of unread bytes. The stream of a slower client ends; the client can resume it. */
const MAX_UNREAD_BYTES = 256 * 1024

const RECONNECT_DELAY_MS = 2000

/** Formats an event for sending. */
export const formatEvent = (name: string, data: unknown, id?: string): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`

/** Stream of events that never blocks the writer. */
export class EventStreamWriter extends Readable {
  #isFinished = false

  constructor() {
    super({ highWaterMark: MAX_UNREAD_BYTES, encoding: 'utf8' })
    this.#send(`retry: ${RECONNECT_DELAY_MS}\n\n`)
    this.once('close', () => this.emit('drain'))
  }

  override _read(): void {}

  /** Tells each time that the client has taken something: `_read` is called once until more is sent. */
  override read(size?: number): unknown {
    const part = super.read(size)
    this.emit('drain')
    return part
  }

  /** Resolves when the client has read most of what was sent, or is gone. */
  async waitForDrain(): Promise<void> {
    while (!this.destroyed && this.readableLength > MAX_UNREAD_BYTES / 4) await once(this, 'drain')
  }

  sendEvent(name: string, data: unknown, id?: string): void {
    this.#send(formatEvent(name, data, id))
  }

  /** Keeps the connection alive and tells where to resume. */
  sendHeartbeat(id: string): void {
    this.#send(`:\nid: ${id}\n\n`)
  }

  finish(): void {
    this.#isFinished = true
    if (!this.destroyed) this.push(null)
  }

  #send(text: string): void {
    if (this.destroyed || this.#isFinished) return
    if (this.readableLength + text.length > MAX_UNREAD_BYTES) this.destroy()
    else this.push(text)
  }
}

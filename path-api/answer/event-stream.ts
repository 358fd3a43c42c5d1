import { Readable } from 'node:stream'
import type { TSchema } from '@sinclair/typebox'
import { Raw } from './media.ts'

/** Server-Sent Events; the data of each is JSON of this schema. */
export class EventStream extends Raw {
  readonly data: TSchema
  constructor(data: TSchema) {
    super(['text/event-stream'])
    this.data = data
  }
}

/** Whoever has not taken so much is not waited for: the stream ends, and can go on where it was. */
const MOST_UNREAD = 256 * 1024

const RETRY_MS = 2000

/** One event in the form in which it is sent. */
export const eventText = (name: string, data: unknown, id?: string): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`

/** A stream of events to which is written as they come; it never makes the writer wait. */
export class Events extends Readable {
  constructor() {
    super({ highWaterMark: MOST_UNREAD, encoding: 'utf8' })
    this.#send(`retry: ${RETRY_MS}\n\n`)
  }

  override _read(): void {}

  event(name: string, data: unknown, id?: string): void {
    this.#send(eventText(name, data, id))
  }

  /** Shows that the connection lives, and where it can go on. */
  sign(id: string): void {
    this.#send(`:\nid: ${id}\n\n`)
  }

  over(): void {
    if (!this.destroyed) this.push(null)
  }

  #send(text: string): void {
    if (this.destroyed || this.readableEnded) return
    if (this.readableLength + text.length > MOST_UNREAD) this.destroy()
    else this.push(text)
  }
}

import { Readable } from 'node:stream'
import { ServiceError } from '../../schemas/errors.ts'
import { EventStreamWriter } from '../reply/event-stream.ts'

/** Downloads of an account that are sent at once: each holds some megabytes until its client has read them. */
const MAX_RUNNING_DOWNLOADS = 4
/** A download that nobody reads ends after the timeout of its connection. */
const RETRY_AFTER_S = 10

/** Limits the streamed responses that an account reads at once: exports, their files and results of queries. */
export class RunningDownloads {
  readonly #counts = new Map<string, number>()

  /** Counts a body until its end, if it is a download. @throws TooManyRequests */
  add(account: string, body: unknown): void {
    // Streams of events bound what they hold.
    if (!(body instanceof Readable) || body instanceof EventStreamWriter) return
    const count = this.#counts.get(account) ?? 0
    if (count >= MAX_RUNNING_DOWNLOADS) {
      body.destroy()
      const detail = `At most ${MAX_RUNNING_DOWNLOADS} downloads run at once. Read one to its end, or close its connection.`
      throw new ServiceError('TooManyRequests', { retryAfter: RETRY_AFTER_S, detail })
    }
    this.#counts.set(account, count + 1)
    body.once('close', () => this.#remove(account))
  }

  #remove(account: string): void {
    const left = (this.#counts.get(account) ?? 1) - 1
    if (left === 0) this.#counts.delete(account)
    else this.#counts.set(account, left)
  }
}

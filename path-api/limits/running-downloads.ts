import { Readable } from 'node:stream'
import { OpenCounts } from '../../records/limits/open-counts.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { EventStreamWriter } from '../reply/event-stream.ts'

/** Downloads of an account that are sent at once: each holds some megabytes until its client has read them. */
const MAX_RUNNING_DOWNLOADS = 4
/** How often a download asks for its session. */
const RIGHTS_CHECK_INTERVAL_MS = 5_000
/** A download that nobody reads ends after the timeout of its connection. */
const RETRY_AFTER_S = 10

/** Limits the streamed responses that an account reads at once: exports, their files and results of queries. */
export class RunningDownloads {
  readonly #counts = new OpenCounts()

  /**
   * Counts a body until its end, if it is a download.
   * @param isPermitted whether the session of the caller is still there; otherwise the download ends
   * @throws TooManyRequests
   */
  add(account: string, body: unknown, isPermitted?: () => Promise<boolean>): void {
    // Streams of events limit their own memory.
    if (!(body instanceof Readable) || body instanceof EventStreamWriter) return
    if (this.#counts.get(account) >= MAX_RUNNING_DOWNLOADS) {
      body.destroy()
      const detail = `At most ${MAX_RUNNING_DOWNLOADS} downloads run at once. Read one to its end, or close its connection.`
      throw new ServiceError('TooManyRequests', { retryAfter: RETRY_AFTER_S, detail })
    }
    this.#counts.add(account)
    const timer =
      isPermitted && setInterval(() => void endUnless(isPermitted, body), RIGHTS_CHECK_INTERVAL_MS)
    body.once('close', () => {
      clearInterval(timer)
      this.#counts.remove(account)
    })
  }
}

async function endUnless(isPermitted: () => Promise<boolean>, body: Readable): Promise<void> {
  if (!(await isPermitted().catch(() => false))) body.destroy()
}

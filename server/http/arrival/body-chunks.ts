import type { IncomingMessage } from 'node:http'

/** Chunks of a body are joined until there are as many of them, or as many bytes. */
const JOINED_CHUNKS = 256
const JOINED_BYTES = 16 * 1024
/** From this number on, the chunks of a body must have some size on average: each costs work of its own. */
const MANY_CHUNKS = 10_000
const MIN_AVERAGE_BYTES = 64

/**
 * Joins the small chunks of a body, since its readers keep an object for each until its end.
 * @param refuse called once for a body with too many chunks for its size
 */
export function joinBodyChunks(request: IncomingMessage, refuse: () => void): void {
  const push = request.push.bind(request)
  let waiting: Buffer[] = []
  let waitingBytes = 0
  let count = 0
  let bytes = 0
  let isRefused = false

  const pushWaiting = (): boolean => {
    const [first, ...others] = waiting
    const joined = others.length > 0 ? Buffer.concat(waiting) : first
    waiting = []
    waitingBytes = 0
    return joined === undefined || push(joined)
  }
  // A property of the message, since each Express app that handles it gives it another prototype.
  request.push = (chunk: Buffer | null): boolean => {
    if (chunk === null) {
      pushWaiting()
      return push(null)
    }
    if (isRefused) return false
    waiting.push(chunk)
    waitingBytes += chunk.length
    bytes += chunk.length
    count += 1
    if (count >= MANY_CHUNKS && bytes < count * MIN_AVERAGE_BYTES) {
      isRefused = true
      refuse()
      return false
    }
    return waitingBytes < JOINED_BYTES && waiting.length < JOINED_CHUNKS ? true : pushWaiting()
  }
}

import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'

/** Maximum size of a message, as large as that of a query. */
export const MAX_LIVE_MESSAGE_BYTES = 256 * 1024
/** Maximum bytes of a message and the heads of its frames while it arrives: without authentication, and with it. */
const MAX_UNFINISHED_BYTES = { unknown: 16 * 1024, known: MAX_LIVE_MESSAGE_BYTES + 8 * 1024 }
/** Maximum pings and pongs in a period. Clients need one or two of them. */
const MAX_CONTROL_FRAMES = 300
const CONTROL_FRAME_PERIOD_MS = 30_000
/** A control frame has at most 125 bytes of data, and this head. */
const CONTROL_FRAME_HEAD_BYTES = 6

/**
 * Ends connections whose frames cost more than their data: messages in many small fragments, and floods of pings.
 * The library limits only the data of a message, and each fragment takes some 90 bytes of memory.
 * @param wire the stream below the socket
 */
export function limitFrames(socket: WebSocket, wire: Duplex, isKnown: () => boolean): void {
  let unfinishedBytes = 0
  let controlFrames = 0
  const timer = setInterval(() => {
    controlFrames = 0
  }, CONTROL_FRAME_PERIOD_MS)
  const countControlFrame = (data: Buffer): void => {
    unfinishedBytes -= CONTROL_FRAME_HEAD_BYTES + data.length
    controlFrames += 1
    if (controlFrames > MAX_CONTROL_FRAMES) socket.terminate()
  }
  // Before the library reads the chunk, and may find the end of a message in it. What came earlier is read by now.
  wire.prependListener('data', (chunk: Buffer) => {
    if (unfinishedBytes > (isKnown() ? MAX_UNFINISHED_BYTES.known : MAX_UNFINISHED_BYTES.unknown))
      socket.terminate()
    unfinishedBytes += chunk.length
  })
  socket.on('ping', countControlFrame)
  socket.on('pong', countControlFrame)
  socket.on('message', () => {
    unfinishedBytes = 0
  })
  socket.on('close', () => clearInterval(timer))
}

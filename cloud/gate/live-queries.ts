import { createHash } from 'node:crypto'
import type { RequestHandler } from 'express'
import { code } from './request/parse-request.ts'

const reason = 'Live queries are not offered: ask again with a query'
/** RFC 6455: what an accepted key is made with, and the code of a service that a client may not use. */
const ACCEPTED = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
const POLICY = 1008
const OPCODE = { text: 0x1, close: 0x8 }

/** A whole message in one frame. */
function frame(opcode: number, payload: Buffer): Buffer {
  const length = payload.length < 126 ? [payload.length] : [126, payload.length >> 8, payload.length & 0xff]
  return Buffer.concat([Buffer.from([0x80 | opcode, ...length]), payload])
}

const refusal = frame(
  OPCODE.text,
  Buffer.from(JSON.stringify({ op: 'error', code: code.forbidden, error: reason, reconnect: false })),
)
const closing = frame(OPCODE.close, Buffer.from([POLICY >> 8, POLICY & 0xff, ...Buffer.from(reason)]))

/**
 * Closes each socket for live queries with a reason: told in words that they understand, the SDKs do not try again.
 * Such a request comes as any other, since nobody listens to upgrades.
 */
export const refuseLiveQueries: RequestHandler = (req, res, next) => {
  const key = req.get('sec-websocket-key')
  if (key === undefined || req.get('upgrade')?.toLowerCase() !== 'websocket') return next()
  const accepted = createHash('sha1').update(key.concat(ACCEPTED)).digest('base64')
  const head = `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accepted}\r\n\r\n`
  res.statusCode = 101
  res.socket?.end(Buffer.concat([Buffer.from(head), refusal, closing]))
}

import type { Request, Response } from 'express'
import type { MessageMemory } from '../../records/limits/admission/message-memory.ts'
import type { ServiceError } from '../../schemas/errors.ts'

/** No operation accepts more; a longer body is refused when it has arrived so far. */
const MAX_BODY_BYTES = 8 * 1024 * 1024
/** The operating system holds a shorter response. */
const MIN_UNREAD_BYTES = 64 * 1024

/** Counts the body of a request and its response. @returns why the body has no room */
export function countMessages(
  messages: MessageMemory,
  account: string,
  request: Request,
  response: Response,
): ServiceError | undefined {
  response.once('prefinish', () => {
    const bytes = response.writableLength
    if (bytes < MIN_UNREAD_BYTES) return
    const release = messages.send(response.locals.account ?? account, bytes, () => response.destroy())
    response.once('close', release)
  })
  try {
    countBody(messages, account, request, response)
    return undefined
  } catch (error) {
    return error as ServiceError
  }
}

/** @throws TooManyRequests, Unavailable */
function countBody(messages: MessageMemory, account: string, request: Request, response: Response): void {
  const { headers } = request
  const { 'content-length': length, 'content-encoding': encoding = 'identity' } = headers
  if (length === undefined && headers['transfer-encoding'] === undefined) return
  const isAnnounced = length !== undefined && encoding === 'identity'
  const bytes = isAnnounced ? Math.min(Number(length), MAX_BODY_BYTES) : MAX_BODY_BYTES
  const bytesBefore = request.socket.bytesRead
  const body = messages.receive(account, bytes, () => request.destroy())
  response.once('close', body.release)
  // What a compressed body becomes is unknown here.
  request.once('end', () =>
    body.complete(encoding === 'identity' ? Math.min(bytes, request.socket.bytesRead - bytesBefore) : bytes),
  )
}

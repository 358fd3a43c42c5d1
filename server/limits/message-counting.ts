import type { Request, Response } from 'express'
import type { MessageMemory } from '../../records/limits/admission/message-memory.ts'
import type { ServiceError } from '../../schemas/errors.ts'

/**
 * The largest body that any operation accepts. The reader refuses a longer one as soon as it exceeds this.
 */
const MAX_BODY_BYTES = 8 * 1024 * 1024
/** A smaller response fits into the send buffer of the socket, so it uses no memory of the process. */
const MIN_UNREAD_BYTES = 64 * 1024

/**
 * Reserves memory for the body of a request and its response.
 * @returns the refusal if the memory is used up
 */
export function reserveMessageMemory(
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
    reserveBodyMemory(messages, account, request, response)
    return undefined
  } catch (error) {
    return error as ServiceError
  }
}

/** @throws TooManyRequests, Unavailable */
function reserveBodyMemory(
  messages: MessageMemory,
  account: string,
  request: Request,
  response: Response,
): void {
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

import { createHmac, randomBytes, randomUUID } from 'node:crypto'
import type { Request } from 'express'

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** Ten letters and digits, the form of every document id. */
const idOf = (bytes: Buffer): string =>
  Array.from(bytes.subarray(0, 10), (byte) => alphabet[byte % 62]).join('')

export const randomId = (): string => idOf(randomBytes(10))

/** A source of ids that gives the same ids in the same order for the same seed. */
export function seededIds(seed: Buffer): () => string {
  let count = 0
  return () => idOf(createHmac('sha256', seed).update(String(count++)).digest())
}

/** The request's id: the one that the log gave it, or a sane one that came with it, or a new one. */
export function requestIdOf(request: Request & { id?: unknown }): string {
  if (typeof request.id === 'string') return request.id
  const sent = request.headers['x-request-id']
  return typeof sent === 'string' && /^[\w.-]{8,64}$/.test(sent) ? sent : randomUUID()
}

import { createHash } from 'node:crypto'
import { replyWith } from './reply.ts'

/**
 * Replies with a text that changes only with a new version of the service. Clients cache and revalidate it.
 */
export function replyWithCacheableText(
  text: string | Buffer,
  type: string,
  headers: Readonly<Record<string, string>> = {},
) {
  const etag = `"${createHash('sha256').update(text).digest('base64url').slice(0, 20)}"`
  return replyWith(text, { headers: { 'content-type': type, etag, 'cache-control': 'no-cache', ...headers } })
}

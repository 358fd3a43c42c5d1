import { createHash } from 'node:crypto'
import { answer } from './answer.ts'

/** A text that is always the same until the service is another one: clients keep it, and ask whether it still holds. */
export function revalidated(text: string, type: string, headers: Readonly<Record<string, string>> = {}) {
  const etag = `"${createHash('sha256').update(text).digest('base64url').slice(0, 20)}"`
  return answer(text, { headers: { 'content-type': type, etag, 'cache-control': 'no-cache', ...headers } })
}

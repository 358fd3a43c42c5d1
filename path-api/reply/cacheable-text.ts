import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
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

/** Content codings of large texts. */
export type ContentCoding = 'br' | 'gzip'

type TextReply = ReturnType<typeof replyWithCacheableText>

/** A large text that is compressed once for each coding. */
export class CompressedText {
  readonly #type: string
  readonly #text: string
  readonly #replies = new Map<ContentCoding | undefined, Promise<TextReply>>()

  constructor(text: string, type: string) {
    this.#text = text
    this.#type = type
  }

  /** @param coding the coding that the client accepts; undefined: none */
  reply(coding: ContentCoding | undefined): Promise<TextReply> {
    const cachedReply = this.#replies.get(coding)
    if (cachedReply) return cachedReply
    const reply = this.#createReply(coding)
    this.#replies.set(coding, reply)
    // A failure, as of memory, concerns only the requests that wait for it.
    reply.catch(() => this.#replies.delete(coding))
    return reply
  }

  async #createReply(coding: ContentCoding | undefined): Promise<TextReply> {
    const bytes = coding === undefined ? this.#text : await compressors[coding](this.#text)
    return replyWithCacheableText(bytes, this.#type, {
      vary: 'Accept-Encoding',
      ...(coding && { 'content-encoding': coding }),
    })
  }
}

/** The highest quality of Brotli would take seconds for a few percent. */
const BROTLI_OPTIONS = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }

const compressors: Record<ContentCoding, (text: string) => Promise<Buffer>> = {
  br: (text) => promisify(brotliCompress)(text, BROTLI_OPTIONS),
  gzip: (text) => promisify(gzip)(text),
}

import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Response } from 'express'
import type { Operation } from '../operation/operation.ts'
import { RawBody } from '../reply/body-media.ts'
import { etagOf } from '../reply/etag.ts'
import { ReplyWithHead } from '../reply/reply.ts'

/** A response independent of the request, ready to be written. */
export interface RenderedResponse {
  status: number
  headers: Record<string, string>
  body: string | Buffer | Readable | undefined
  /** Whether the ETag is the same in every state of the resource. */
  hasConstantEtag?: boolean
}

function statusOf(
  { seeOther, created, accepted, gone }: ReplyWithHead<unknown>['head'],
  declaredStatus: number,
): number {
  if (seeOther) return 303
  if (created) return 201
  if (accepted) return 202
  return gone ? 204 : declaredStatus
}

const renderBody = (body: unknown, isRaw: boolean): RenderedResponse['body'] =>
  isRaw ? (body as RenderedResponse['body']) : JSON.stringify(body)

/** Renders the return value of a handler. */
export function renderResponse(
  { id, api, reply: [status, spec, versioned] }: Operation,
  result: unknown,
): RenderedResponse {
  const { body, head } = result instanceof ReplyWithHead ? result : new ReplyWithHead(result, {})
  const {
    version,
    location,
    headers,
    accepted = false,
    gone = false,
    seeOther = false,
    isConstant = false,
  } = head
  const { empty = gone || accepted || seeOther } = head
  if (versioned && version === undefined)
    throw new Error(
      `${id} answered without a version: use replyWith(body, { version }), or remove 'versioned' from its reply`,
    )
  const isRaw = spec instanceof RawBody
  return {
    status: statusOf(head, status),
    headers: {
      ...(spec === undefined || empty ? {} : { 'content-type': isRaw ? spec.types[0] : 'application/json' }),
      ...(version === undefined ? {} : { etag: etagOf(version) }),
      ...(location === undefined ? {} : { location }),
      // RFC 6749, 5.1; all responses have Cache-Control: no-store.
      ...(api === 'oauth' && { pragma: 'no-cache' }),
      ...headers,
    },
    body: spec === undefined || empty ? undefined : renderBody(body, isRaw),
    ...(isConstant && { hasConstantEtag: true }),
  }
}

/** Headers with paths from the root of the host: RFC 9110 and RFC 8288 resolve them against the request. */
const ROOTED_PATHS: Readonly<Record<string, RegExp>> = { location: /^(?=\/)/, link: /(?<=<)(?=\/)/g }

/**
 * Writes the response. A client that disconnects during a stream is not an error.
 * @param pathPrefix path of PUBLIC_URL
 */
export async function writeResponse(
  response: Response,
  { status, headers, body }: RenderedResponse,
  pathPrefix: string,
): Promise<void> {
  for (const [name, value] of Object.entries(headers)) {
    const pattern = ROOTED_PATHS[name]
    if (name === 'vary') response.vary(value)
    else response.setHeader(name, pattern ? value.replace(pattern, () => pathPrefix) : value)
  }
  response.statusCode = status
  if (body instanceof Readable) {
    if (response.req.method !== 'HEAD') return pipeline(body, response)
    body.destroy()
    response.end()
    return
  }
  if (body !== undefined) response.setHeader('content-length', Buffer.byteLength(body))
  response.end(body)
}

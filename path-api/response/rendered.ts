import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Response } from 'express'
import { Answer } from '../answer/answer.ts'
import { etagOf } from '../answer/etag.ts'
import { Raw } from '../answer/media.ts'
import type { Operation } from '../operation/operation.ts'

/** An answer ready to be written: nothing in it depends on the request any more. */
export interface Rendered {
  status: number
  headers: Record<string, string>
  body: string | Buffer | Readable | undefined
}

/** Turns what an operation's handler returned into what is written. */
export function render({ id, reply: [status, spec, versioned] }: Operation, result: unknown): Rendered {
  const { body, head } = result instanceof Answer ? result : new Answer(result, {})
  const { version, location, headers, created = false, gone = false } = head
  if (versioned && version === undefined) throw new Error(`${id} answered without a version`)
  const isRaw = spec instanceof Raw
  return {
    status: created ? 201 : gone ? 204 : status,
    headers: {
      ...(spec === undefined || gone ? {} : { 'content-type': isRaw ? spec.types[0] : 'application/json' }),
      ...(version === undefined ? {} : { etag: etagOf(version) }),
      ...(location === undefined ? {} : { location }),
      ...headers,
    },
    body: spec === undefined || gone ? undefined : isRaw ? (body as Rendered['body']) : JSON.stringify(body),
  }
}

/** Writes the answer; a client that went away in the middle of a stream is nobody's error. */
export async function write(response: Response, { status, headers, body }: Rendered): Promise<void> {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
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

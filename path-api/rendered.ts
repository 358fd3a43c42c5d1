import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Response } from 'express'
import { ServiceError } from '../schemas/errors.ts'
import { type Check, checkOf } from '../schemas/registry.ts'
import { Answer } from './answer.ts'
import { etagOf } from './etag.ts'
import { Raw } from './media.ts'
import type { Operation } from './operation.ts'

/** An answer ready to be written: nothing in it depends on the request any more. */
export interface Rendered {
  status: number
  headers: Record<string, string>
  body: string | Buffer | Readable | undefined
}

/**
 * Turns what a handler returned into what is written.
 *
 * @param checking validate replies against their schema; a fault is `Internal` and names the places, never the data
 */
export function renderer({ id, reply: [status, spec, versioned] }: Operation, checking: boolean) {
  const check = checking && spec !== undefined && !(spec instanceof Raw) ? checkOf(spec) : undefined
  return (result: unknown): Rendered => {
    const { body, head } = result instanceof Answer ? result : new Answer(result, {})
    if (check) requireValid(id, check, body)
    if (versioned && head.version === undefined) throw new Error(`${id} answered without a version`)
    return {
      status,
      headers: {
        ...(spec === undefined
          ? {}
          : { 'content-type': spec instanceof Raw ? spec.types[0] : 'application/json' }),
        ...(head.version === undefined ? {} : { etag: etagOf(head.version) }),
        ...(head.location === undefined ? {} : { location: head.location }),
        ...head.headers,
      },
      body:
        spec === undefined
          ? undefined
          : spec instanceof Raw
            ? (body as Rendered['body'])
            : JSON.stringify(body),
    }
  }
}

function requireValid(id: string, check: Check, body: unknown): void {
  const found = check(JSON.parse(JSON.stringify(body ?? null)))
  if (found.length === 0) return
  const places = found.map(({ path, message }) => `${path} ${message}`).join('; ')
  throw new ServiceError('Internal', {
    cause: new Error(`The reply of ${id} does not fit its schema: ${places}`),
  })
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

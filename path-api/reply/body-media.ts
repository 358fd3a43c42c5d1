import type { Readable } from 'node:stream'
import type { TSchema } from '@sinclair/typebox'

/** A body other than JSON. The first media type is the default of the response. */
export class RawBody {
  readonly types: readonly [string, ...string[]]
  constructor(types: readonly [string, ...string[]]) {
    this.types = types
  }
}

/** An HTML form (application/x-www-form-urlencoded), for pages that work without scripts. */
export class FormBody<S extends TSchema> {
  readonly schema: S
  constructor(schema: S) {
    this.schema = schema
  }
}

/** `rawBody('image/png', 'image/jpeg')`: requests have bytes; replies are bytes, text or a stream. */
export const rawBody = (...types: [string, ...string[]]): RawBody => new RawBody(types)
export const formBody = <S extends TSchema>(schema: S): FormBody<S> => new FormBody(schema)

/** Raw request body, for handlers. */
export interface RawContent {
  /** The media type, lower case, without parameters. */
  type: string
  bytes: Buffer
}

/** Value that a handler may return as a raw body. */
export type RawReply = Buffer | string | Readable

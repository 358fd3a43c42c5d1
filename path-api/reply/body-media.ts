import type { Readable } from 'node:stream'
import type { TSchema } from '@sinclair/typebox'

/** A body that handlers read or write themselves. The first media type is the default of the response. */
export class RawBody {
  readonly types: readonly [string, ...string[]]
  /** Describes the JSON of the body in the documentation. */
  readonly json: TSchema | undefined
  constructor(types: readonly [string, ...string[]], json?: TSchema) {
    this.types = types
    this.json = json
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
/** Like rawBody, with a schema that describes its JSON. */
export const describedBody = (json: TSchema, ...types: [string, ...string[]]): RawBody =>
  new RawBody(types, json)
export const formBody = <S extends TSchema>(schema: S): FormBody<S> => new FormBody(schema)

/** Raw request body, for handlers. */
export interface RawContent {
  /** The media type, lower case, without parameters. */
  type: string
  bytes: Buffer
  /** The JSON of a described body. */
  json?: unknown
}

/** Value that a handler may return as a raw body. */
export type RawReply = Buffer | string | Readable

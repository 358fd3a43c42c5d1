import type { Readable } from 'node:stream'
import type { TSchema } from '@sinclair/typebox'

/** A body that is not JSON: its media types, the first being what an answer is unless its headers say otherwise. */
export class Raw {
  readonly types: readonly [string, ...string[]]
  constructor(types: readonly [string, ...string[]]) {
    this.types = types
  }
}

/** An HTML form (application/x-www-form-urlencoded), for pages that work without scripts. */
export class Form<S extends TSchema> {
  readonly schema: S
  constructor(schema: S) {
    this.schema = schema
  }
}

/** `raw('image/png', 'image/jpeg')`: bytes in, or bytes, text or a stream out. */
export const raw = (...types: [string, ...string[]]): Raw => new Raw(types)
export const form = <S extends TSchema>(schema: S): Form<S> => new Form(schema)

/** What a handler sees of a raw body. */
export interface RawContent {
  /** The media type, lower case, without parameters. */
  type: string
  bytes: Buffer
}

/** What a handler may answer where the reply is raw. */
export type RawAnswer = Buffer | string | Readable

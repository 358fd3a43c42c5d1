import type { Static, TSchema } from '@sinclair/typebox'
import type { Raw, RawAnswer } from './media.ts'

/** The reply of an operation: status, body, and `versioned` when the body is a single resource with an ETag. */
export type ReplySpec =
  | readonly [status: number]
  | readonly [status: number, body: TSchema | Raw]
  | readonly [status: number, body: TSchema | Raw, versioned: 'versioned']

interface Head {
  /** Whether a PUT has made what was not there. */
  created?: boolean
  /** Whether there is nothing any more that a GET could show: 204 without a body. */
  gone?: boolean
  /** Path of what was created. */
  location?: string
  /** The resource's version; its ETag is the version in quotes. */
  version?: number | string
  headers?: Readonly<Record<string, string>>
}

/** A body together with what belongs in the answer's head. */
export class Answer<T, H extends Head = Head> {
  readonly body: T
  readonly head: H
  constructor(body: T, head: H) {
    this.body = body
    this.head = head
  }
}

/** For handlers that answer more than a body: `answer(contact, { version: 3, location: '/profile/…' })`. */
export const answer = <T, H extends Head>(body: T, head: H): Answer<T, H> => new Answer(body, head)

type ValueOf<B> = B extends Raw ? RawAnswer : B extends TSchema ? Static<B> : never

/** What a handler returns. A versioned reply cannot be given without its version. */
export type Reply<R extends ReplySpec> = R extends readonly [number, infer B, 'versioned']
  ? Answer<ValueOf<B>, Head & { version: number | string }>
  : R extends readonly [number, infer B]
    ? ValueOf<B> | Answer<ValueOf<B>>
    : // biome-ignore lint/suspicious/noConfusingVoidType: a handler without an answer returns nothing
      void | Answer<undefined>

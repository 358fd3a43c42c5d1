import type { Static, TSchema } from '@sinclair/typebox'
import type { RawBody, RawReply } from './body-media.ts'

/** Specification of a reply: status, body, and `versioned` for a single resource with an ETag. */
export type ReplySpec =
  | readonly [status: number]
  | readonly [status: number, body: TSchema | RawBody]
  | readonly [status: number, body: TSchema | RawBody, versioned: 'versioned']

interface ReplyHead {
  /** Whether a PUT created the resource. */
  created?: boolean
  /** Whether the reply is without the body that its specification has. */
  empty?: boolean
  /** Whether the work goes on: 202 without a body. */
  accepted?: boolean
  /** Whether the resource was deleted: 204 without a body. */
  gone?: boolean
  /** True to send a browser to `location` instead: 303 without a body. */
  seeOther?: boolean
  /** Path of the created resource, which a GET shows. */
  location?: string
  /** Version of the resource; the ETag is the version in quotes. */
  version?: number | string
  /** Whether the version is the same in every state of the resource, so that it tells no client that nothing changed. */
  isConstant?: boolean
  headers?: Readonly<Record<string, string>>
}

/** A body with the headers of the response. */
export class ReplyWithHead<T, H extends ReplyHead = ReplyHead> {
  readonly body: T
  readonly head: H
  constructor(body: T, head: H) {
    this.body = body
    this.head = head
  }
}

/** For replies with headers: `replyWith(contact, { version: 3, location: '/profile/…' })`. */
export const replyWith = <T, H extends ReplyHead>(body: T, head: H): ReplyWithHead<T, H> =>
  new ReplyWithHead(body, head)

/** A cookie that browsers send with requests from our own pages only, and hide from scripts. */
export const secureCookie = (name: string, value: string, path: string, maxAgeS: number): string =>
  `${name}=${value}; Path=${path}; Max-Age=${maxAgeS}; HttpOnly; Secure; SameSite=Strict`

/** The cookie of a login on a page. No seconds remove it. */
export const sessionCookie = (pathPrefix: string, token: string, seconds: number): string =>
  secureCookie('authToken', token, pathPrefix || '/', seconds)

type ReplyValue<B> = B extends RawBody ? RawReply : B extends TSchema ? Static<B> : never

/** Return type of a handler. The type of a versioned reply enforces a version. */
export type Reply<R extends ReplySpec> = R extends readonly [number, infer B, 'versioned']
  ? ReplyWithHead<ReplyValue<B>, ReplyHead & { version: number | string }>
  : R extends readonly [number, infer B]
    ? ReplyValue<B> | ReplyWithHead<ReplyValue<B>>
    : // biome-ignore lint/suspicious/noConfusingVoidType: a handler without an answer returns nothing
      void | ReplyWithHead<undefined>

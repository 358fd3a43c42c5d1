import createFetchClient from 'openapi-fetch'
import type {
  Answer,
  Body,
  Call,
  CallOptions,
  ChangeOf,
  FollowPath,
  Init,
  ItemOf,
  ListPath,
  OptionalInit,
  ParamsOf,
  UpdatePath,
} from './calls.ts'
import { type ChangeEvent, type FollowOptions, followChanges } from './records/changes.ts'
import { type Collections, createCollections } from './records/collections.ts'
import { createListing, type Listing, type Page } from './records/listing.ts'
import { updateRecord } from './records/update.ts'
import type { Session } from './request/client-session.ts'
import { Problem } from './request/problem.ts'
import { createSender, type SenderOptions } from './request/sender.ts'

export type ClientOptions = SenderOptions

interface Calls {
  GET: Call<'get'>
  POST: Call<'post'>
  PUT: Call<'put'>
  DELETE: Call<'delete'>
  /** The items of a list, over all its pages. */
  list<P extends ListPath>(path: P, ...init: OptionalInit<Init<P>>): Listing<ItemOf<P>>
  /** Reads, changes and writes a record. If somebody else has changed it meanwhile, it reads and asks again. */
  update<P extends UpdatePath>(
    path: P,
    init: ParamsOf<P> & CallOptions,
    change: ChangeOf<P>,
  ): Promise<Answer<P>>
  /** The changes of an EHR or a chat topic as they happen. It resumes by itself, until the signal aborts. */
  follow<P extends FollowPath>(
    path: P,
    init: ParamsOf<P> & FollowOptions,
  ): AsyncGenerator<ChangeEvent<Answer<P>>, void>
  /**
   * Renews the session of an earlier visit, by the stored refresh token or the cookie.
   * @returns whether somebody is logged in
   */
  resume(): Promise<boolean>
  /** Logs in, and keeps the tokens for the calls that follow. */
  logIn(credentials: Body<'/auth/login/password'>): Promise<Answer<'/auth/login/password', 'post'>>
  /** Ends the session. */
  logOut(): Promise<void>
}

/** A client of the service. Each method throws a `Problem` for every refusal and failure. */
export type Client = Calls & Collections

const isSentAsItIs = (body: unknown): body is BodyInit =>
  typeof body === 'string' || body instanceof Blob || body instanceof ArrayBuffer || ArrayBuffer.isView(body)

type Request = (method: string, path: string, init?: object) => Promise<{ data: never; response: Response }>

/** The methods without their types: what the compiler knows of a path is in `Calls`. */
function createCalls(request: Request, session: Session, refreshCookie?: true) {
  const call = (method: string) => (path: string, init?: object) => request(method, path, init)
  return {
    GET: call('GET'),
    POST: call('POST'),
    PUT: call('PUT'),
    DELETE: call('DELETE'),

    list: (path: string, init: { params?: { query?: object } } = {}) =>
      createListing(async (cursor): Promise<Page<unknown>> => {
        const query = { ...init.params?.query, ...(cursor !== undefined && { cursor }) }
        return (await request('GET', path, { ...init, params: { ...init.params, query } })).data
      }),

    update: (path: string, init: CallOptions, change: (current: unknown) => unknown) =>
      updateRecord(
        () => request('GET', path, init),
        (body, etag) =>
          request('PUT', path, { ...init, body, headers: { ...init.headers, 'if-match': etag } }),
        change,
      ),

    follow: (path: string, { after, onStart, onInterruption, signal, ...init }: FollowOptions) =>
      followChanges(
        async (lastEventId, signal) => {
          const resume = lastEventId === undefined ? {} : { 'last-event-id': lastEventId }
          const headers = { accept: 'text/event-stream', ...resume }
          return (await request('GET', path, { ...init, signal, headers, parseAs: 'stream' })).response
        },
        { after, onStart, onInterruption, signal },
      ),

    resume: () => session.renew(undefined),

    async logIn(body: object) {
      const { data } = await request('POST', '/auth/login/password', { body: { ...body, refreshCookie } })
      await session.save(data)
      return data
    },

    async logOut() {
      try {
        await request('POST', '/auth/logout')
      } finally {
        await session.save(undefined)
      }
    },
  }
}

/** A body that is no JSON comes from something else, such as the page of a proxy. */
function refuseOtherServers(request: Request): Request {
  return (...args) =>
    request(...args).catch((cause) => {
      if (!(cause instanceof SyntaxError)) throw cause
      throw new Problem({
        status: 0,
        code: 'not-json',
        title: 'The server is not a Health Record Service',
        cause,
      })
    })
}

/** Creates a client. It sends nothing before the first call. */
export function createClient(options: ClientOptions = {}): Client {
  const baseUrl = (options.url ?? globalThis.location?.origin ?? '').replace(/(?<!\/)\/+$/, '')
  const { session, send } = createSender(baseUrl, options)
  const { request } = createFetchClient({
    baseUrl,
    fetch: send,
    bodySerializer: (body: unknown) => (isSentAsItIs(body) ? body : JSON.stringify(body)),
  })
  const calls = createCalls(
    refuseOtherServers(request as never),
    session,
    options.refreshByCookie || undefined,
  )
  return { ...createCollections(calls), ...(calls as unknown as Calls) }
}

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
import { createInputProblem, Problem } from './request/problem.ts'
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

interface RequestOptions {
  params?: { path?: Record<string, unknown>; query?: object }
  headers?: Record<string, string> | undefined
  body?: unknown
  signal?: AbortSignal | undefined
}
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

    resume: async () => (await session.renew(await session.authorization())) !== undefined,

    async logIn(body: object) {
      const { data } = await request('POST', '/auth/login/password', { body: { ...body, refreshCookie } })
      await session.replace(data)
      return data
    },

    async logOut() {
      const { login } = await session.authorization()
      try {
        await request('POST', '/auth/logout')
      } finally {
        if (!login.aborted) await session.replace(undefined)
      }
    },
  }
}

/**
 * Ids come from links and from other users. A URL resolves "." and "..", so that these would reach another operation.
 * @throws Problem
 */
const insertIds = (path: string, ids: Record<string, unknown> = {}): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const id = String(ids[name] ?? '')
    if (!['', '.', '..'].includes(id)) return encodeURIComponent(id)
    const message = id ? `must not be "${id}"` : 'is required'
    throw createInputProblem({
      errors: [{ path: `path.${name}`, code: id ? 'pattern' : 'required', message }],
    })
  })

/** openapi-fetch takes every other body for JSON. */
const contentTypeOf = (body: unknown) =>
  body instanceof Blob && body.type ? { 'content-type': body.type } : undefined

/** @param cause what openapi-fetch throws before the request is sent, or while it reads a response that is not JSON */
function toProblem(cause: unknown): unknown {
  if (cause instanceof SyntaxError)
    // It comes from something else, such as the page of a proxy.
    return new Problem({
      status: 0,
      code: 'not-json',
      title: 'The server is not a Health Record Service',
      cause,
    })
  if (cause instanceof TypeError)
    return createInputProblem({ cause, detail: `The request cannot be sent: ${cause.message}` })
  return cause
}

/** Creates a client. It sends nothing before the first call. */
export function createClient(options: ClientOptions = {}): Client {
  const baseUrl = (options.url ?? globalThis.location?.origin ?? '').replace(/(?<!\/)\/+$/, '')
  const { session, send } = createSender(baseUrl, options)
  const fetchClient = createFetchClient({
    baseUrl,
    bodySerializer: (body: unknown) => (isSentAsItIs(body) ? body : JSON.stringify(body)),
  })
  const request = fetchClient.request as unknown as Request
  const sendRequest: Request = async (method, path, { signal, ...init }: RequestOptions = {}) => {
    try {
      return await request(method, insertIds(path, init.params?.path), {
        ...init,
        headers: { ...contentTypeOf(init.body), ...init.headers },
        fetch: (prepared: globalThis.Request) => send(prepared, signal),
      })
    } catch (error) {
      throw signal?.aborted ? error : toProblem(error)
    }
  }
  const calls = createCalls(sendRequest, session, options.refreshByCookie || undefined)
  return { ...createCollections(calls), ...(calls as unknown as Calls) }
}

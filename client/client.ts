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
import type { paths } from './generated/api.ts'
import { type ChangeEvent, type FollowOptions, followChanges } from './records/changes.ts'
import { createListing, type Listing, type Page } from './records/listing.ts'
import { updateRecord } from './records/update.ts'
import { createSender, type SenderOptions } from './request/sender.ts'

export type ClientOptions = SenderOptions

export interface Client {
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
  follow<P extends FollowPath>(path: P, init: ParamsOf<P> & FollowOptions): AsyncGenerator<ChangeEvent, void>
  /** Logs in, and keeps the tokens for the calls that follow. */
  logIn(credentials: Body<'/auth/login/password'>): Promise<Answer<'/auth/login/password', 'post'>>
  /** Ends the session. */
  logOut(): Promise<void>
}

/** A call whose path is not known to the compiler. */
type AnyCall = (path: string, init?: object) => Promise<{ data: unknown; response: Response }>

const isSentAsItIs = (body: unknown): body is BodyInit =>
  typeof body === 'string' || body instanceof Blob || body instanceof ArrayBuffer || ArrayBuffer.isView(body)

/** Creates a client. It sends nothing before the first call. */
export function createClient(options: ClientOptions = {}): Client {
  const baseUrl = (options.url ?? globalThis.location?.origin ?? '').replace(/\/+$/, '')
  const { session, send } = createSender(baseUrl, options)
  const { GET, POST, PUT, DELETE } = createFetchClient<paths>({
    baseUrl,
    fetch: send,
    bodySerializer: (body: unknown) => (isSentAsItIs(body) ? body : JSON.stringify(body)),
  })
  const get = GET as unknown as AnyCall
  const put = PUT as unknown as AnyCall
  const client: Client = {
    GET: GET as unknown as Client['GET'],
    POST: POST as unknown as Client['POST'],
    PUT: PUT as unknown as Client['PUT'],
    DELETE: DELETE as unknown as Client['DELETE'],

    list: (path, init?: { params?: { query?: object } }) =>
      createListing(async (cursor) => {
        const params = { ...init?.params, query: { ...init?.params?.query, ...(cursor && { cursor }) } }
        return (await get(path, { ...init, params })).data as Page<never>
      }),

    update: (path, init, change) =>
      updateRecord(
        () => get(path, init) as Promise<{ data: never; response: Response }>,
        (body, etag) => put(path, { ...init, body, headers: { ...init.headers, 'if-match': etag } }) as never,
        change,
      ),

    follow: (path, { after, onInterruption, ...init }) =>
      followChanges(
        async (lastEventId, signal) => {
          const headers = {
            accept: 'text/event-stream',
            ...(lastEventId && { 'last-event-id': lastEventId }),
          }
          return (await get(path, { ...init, signal, headers, parseAs: 'stream' })).response
        },
        { after, onInterruption, signal: init.signal },
      ),

    async logIn(body) {
      const { data } = await client.POST('/auth/login/password', { body })
      await session.save(data)
      return data
    },

    async logOut() {
      await client.POST('/auth/logout')
      await session.save(undefined)
    },
  }
  return client
}

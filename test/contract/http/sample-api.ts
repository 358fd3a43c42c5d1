import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { startEmbeddedMongo } from '@health-record-service/embedded-mongo'
import { Type } from '@sinclair/typebox'
import express, { type Request, type RequestHandler } from 'express'
import { type Db, MongoClient } from 'mongodb'
import { defineListOperation } from '../../../path-api/operation/list-operation.ts'
import { defineOperation, type Operation } from '../../../path-api/operation/operation.ts'
import type { Services } from '../../../path-api/operation/services.ts'
import { formBody, rawBody } from '../../../path-api/reply/body-media.ts'
import { replyWith } from '../../../path-api/reply/reply.ts'
import { createPathApiRouter, type PathApiOptions } from '../../../path-api/router.ts'
import { AdmissionControl } from '../../../records/limits/admission/admission-control.ts'
import type { RateLimits } from '../../../records/limits/rate-limiter.ts'
import { closedObject } from '../../../schemas/common.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import { createServingOptions, failFastDuringOutages } from '../../../server/database/client-options.ts'
import { openRateLimits } from '../../../server/limits/rate-limits.ts'

/** A small resource, only for tests of the frame by itself. */
const Note = closedObject('SampleNote', 'A note', {
  title: Type.String({ minLength: 1, maxLength: 20, description: 'Title', examples: ['Shopping'] }),
  stars: Type.Optional(Type.Integer({ minimum: 0, maximum: 5, description: 'Stars', examples: [3] })),
  tags: Type.Optional(Type.Array(Type.String(), { description: 'Tags', examples: [['home']] })),
})
const NOT_A_PICTURE = { path: '', code: 'picture', message: 'must be three bytes of PNG' }
const declaration = { source: 'a test', access: 'self' } as const

/** The number of runs of countNote, by its input. */
const COUNTED_NOTES = new Map<string, number>()

/** The stored note and its version, one for each running sample. */
const STORED_NOTE = { version: 3, note: { title: 'Shopping' } }

const sampleOperations: Operation[] = [
  defineOperation({
    ...declaration,
    id: 'getNote',
    method: 'get',
    path: '/sample/{mvUid}/note',
    summary: 'Get',
    reply: [200, Note, 'versioned'],
    handle: () => replyWith(STORED_NOTE.note, { version: STORED_NOTE.version }),
  }),
  defineOperation({
    ...declaration,
    id: 'updateNote',
    method: 'put',
    path: '/sample/{mvUid}/note',
    summary: 'Update',
    ifMatch: 'required',
    body: Note,
    reply: [200, Note, 'versioned'],
    handle: ({ body }, { ifMatch }) => {
      if (!ifMatch?.includes(3)) throw new ServiceError('PreconditionFailed', { version: 3 })
      return replyWith(body, { version: 4 })
    },
  }),
  defineOperation({
    ...declaration,
    id: 'addNote',
    method: 'post',
    path: '/sample/{mvUid}/note',
    summary: 'Add',
    query: { dry: Type.Optional(Type.Boolean()), times: Type.Optional(Type.Array(Type.Integer())) },
    body: Note,
    reply: [201, Note, 'versioned'],
    handle: ({ body }, { newId }) => replyWith(body, { version: 1, location: `/sample/note/${newId()}` }),
  }),
  defineOperation({
    ...declaration,
    id: 'getFixedNote',
    method: 'get',
    path: '/sample/fixed/note',
    summary: 'A literal beside a parameter',
    access: 'public',
    reply: [200, Note],
    handle: () => ({ title: 'fixed' }),
  }),
  defineOperation({
    ...declaration,
    id: 'getPicture',
    method: 'get',
    path: '/sample/{mvUid}/picture',
    summary: 'A stream',
    reply: [200, rawBody('image/png', 'image/jpeg')],
    handle: () => replyWith(Readable.from([Buffer.from('abc'), Buffer.from('def')]), { headers: {} }),
  }),
  defineOperation({
    ...declaration,
    id: 'putPicture',
    method: 'put',
    path: '/sample/{mvUid}/picture',
    summary: 'Bytes',
    body: rawBody('image/png'),
    limits: { bytes: 100 },
    reply: [204],
    errors: ['RuleViolated'],
    handle: ({ body: { type, bytes } }, { ifMatch }) => {
      if (ifMatch) throw new ServiceError('PreconditionFailed', { version: 1 })
      if (type !== 'image/png' || bytes.length !== 3)
        throw new ServiceError('RuleViolated', { violations: [NOT_A_PICTURE] })
    },
  }),
  defineOperation({
    ...declaration,
    id: 'addComposition',
    method: 'post',
    path: '/sample/composition',
    summary: 'Takes more than others',
    access: 'public',
    body: Type.Object({}, { additionalProperties: true }),
    limits: { bytes: 4 * 1024 * 1024, depth: 200 },
    reply: [204],
    handle() {},
  }),
  defineOperation({
    ...declaration,
    id: 'getDiagnosisPastTheStores',
    method: 'get',
    path: '/sample/ehr/{ehrId}',
    summary: 'Forgets to ask whether the caller may see the EHR, unless it is their own',
    access: 'ehr:read',
    reply: [200, Note],
    handle: ({ params: { ehrId } }, { caller }) => {
      if (ehrId === caller.userId) caller.onAccess?.(ehrId)
      return { title: 'a diagnosis' }
    },
  }),
  defineListOperation({
    ...declaration,
    id: 'listNotes',
    path: '/sample/{mvUid}/notes',
    summary: 'List',
    query: { tags: Type.Optional(Type.Array(Type.String())) },
    item: Note,
    handle: ({ page: { limit, cursor, count } }) => ({
      items: [{ title: cursor ?? 'first' }].slice(0, limit),
      next: cursor === undefined ? 'second-page' : null,
      ...(count ? { total: 2 } : {}),
    }),
  }),
  defineOperation({
    ...declaration,
    id: 'countNote',
    method: 'post',
    path: '/sample/{mvUid}/count',
    summary: 'Counts how often it was done, and fails when told so',
    body: Type.Object({ how: Type.String() }, { additionalProperties: false }),
    reply: [
      200,
      Type.Object(
        { times: Type.Integer(), id: Type.String(), isRetry: Type.Boolean() },
        { additionalProperties: false },
      ),
    ],
    errors: ['RuleViolated'],
    handle: async ({ body: { how } }, { newId, isRetry }) => {
      const times = (COUNTED_NOTES.get(how) ?? 0) + 1
      COUNTED_NOTES.set(how, times)
      await new Promise((resolve) => setTimeout(resolve, 50))
      if (how === 'breaks a rule') throw new ServiceError('RuleViolated', { violations: [NOT_A_PICTURE] })
      if (how === 'fails once' && times === 1) throw new Error('once')
      if (how === 'is late once' && times === 1) throw new ServiceError('DeadlineExceeded')
      return { times, id: newId(), isRetry }
    },
  }),
  defineOperation({
    ...declaration,
    id: 'guessSecret',
    method: 'post',
    path: '/sample/guess',
    summary: 'Guarded',
    access: 'public',
    body: Type.Object({ email: Type.String() }, { additionalProperties: false }),
    reply: [204],
    guardedAccount: ({ body }) => body.email,
    handle() {},
  }),
  defineOperation({
    ...declaration,
    id: 'sendForm',
    method: 'post',
    path: '/sample/form',
    summary: 'A form',
    access: 'public',
    body: formBody(Type.Object({ stars: Type.Integer() }, { additionalProperties: false })),
    reply: [200, Type.Object({ stars: Type.Integer() }, { additionalProperties: false })],
    handle: ({ body }) => ({ stars: body.stars + 1 }),
  }),
  defineOperation({
    ...declaration,
    id: 'deleteHeedlessly',
    method: 'delete',
    path: '/sample/{mvUid}/note',
    summary: 'Forgets If-Match',
    reply: [204],
    handle() {},
  }),
  defineOperation({
    ...declaration,
    id: 'failUnforeseen',
    method: 'post',
    path: '/sample/fail/{type}',
    params: { type: Type.String() },
    summary: 'Fails in the ways of its path',
    access: 'public',
    reply: [200, Note],
    handle: async ({ params }) => {
      if (params.type === 'undeclared') throw new ServiceError('Gone')
      if (params.type === 'reply') return { title: 'x'.repeat(30) }
      throw new Error('secret: Mrs Example')
    },
  }),
]

type Options = Partial<PathApiOptions> & { rateLimits?: RateLimits }

interface SampleServer {
  url: string
  /** The log of the frame. */
  logged: { facts: object; message: string }[]
  close(): Promise<void>
}

export interface SampleApi extends SampleServer {
  db: Db
  /** Another instance of the API on the same database. */
  startPeer(options?: Options): Promise<SampleServer>
  stopDatabase(): Promise<void>
}

/** A server with the sample operations only. The token `user-X` is user X, `admin-X` an administrator. */
export async function startSampleApi(options: Options = {}): Promise<SampleApi> {
  const dataDir = await mkdtemp(join(tmpdir(), 'sample-'))
  const engine = await startEmbeddedMongo({ dataDir })
  const client = await MongoClient.connect(engine.uri, createServingOptions(engine.uri))
  failFastDuringOutages(client)
  const db = client.db('sample')
  const frame = await startSampleServer(db, options)
  const close = async () => {
    await frame.close()
    await client.close()
    await engine.stop()
    await rm(dataDir, { recursive: true })
  }
  const startPeer = (other: Options = {}) => startSampleServer(db, { ...options, ...other })
  return { ...frame, db, close, startPeer, stopDatabase: engine.stop }
}

export const sampleTokens: PathApiOptions['tokens'] = {
  authenticate: async (token) => {
    const [role, mvUid] = token.split('-')
    if (!mvUid) return undefined
    const roles = role === undefined || role === 'user' ? [] : [role]
    return { mvUid, sessionId: 's', validUntil: new Date(8.64e15), roles, application: 'test' }
  },
  ownOrigins: ['https://own.example'],
  tokenFromQuery: false,
}

export const GENEROUS_LIMITS = {
  address: 10_000,
  account: 10_000,
  guardedAddress: 5,
  guardedAccount: 3,
  shared: false,
}

async function startSampleServer(
  db: Db,
  { rateLimits = GENEROUS_LIMITS, ...options }: Options,
): Promise<SampleServer> {
  const logged: SampleServer['logged'] = []
  const note = (facts: object, message: string) => logged.push({ facts, message })
  const { router } = await createPathApiRouter({
    services: { readiness: async () => ({ database: true }) } as unknown as Services,
    tokens: sampleTokens,
    log: { error: note, warn: note },
    checking: true,
    db,
    consume: await openRateLimits(db, rateLimits),
    admissionControl: new AdmissionControl(),
    corsOrigins: ['https://friend.example'],
    pathPrefix: '',
    version: '0.0.0',
    operations: sampleOperations,
    ...options,
  })
  const server: Server = createServer(express().use(setRequestId, router)).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const close = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, logged, close }
}

/** Sets the request id and its response header, as the service does before the frame. */
const setRequestId: RequestHandler = (request: Request & { id?: unknown }, response, next) => {
  const id = randomUUID()
  request.id = id
  response.set('X-Request-Id', id)
  next()
}

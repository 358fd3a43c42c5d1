import cors from 'cors'
import express, { type Request, type Response, type Router } from 'express'
import type { Db } from 'mongodb'
import { counted } from '../records/limits/rate-limits.ts'
import { errorCode, ServiceError } from '../schemas/errors.ts'
import { documentation } from './documentation/docs.ts'
import { openApi } from './documentation/openapi.ts'
import { idempotency } from './limits/idempotency.ts'
import type { Method, Operation } from './operation/operation.ts'
import { named, pathMatcher } from './request/match.ts'
import { type Exchange, type Frame, type Perform, performer } from './request/perform.ts'
import { problem, toServiceError } from './response/problem.ts'
import { type Rendered, write } from './response/rendered.ts'
import { table } from './table.ts'

/** What the path family is made from. */
export interface PathApiOptions extends Omit<Frame, 'once'> {
  /** Keeps answers to repeatable requests. */
  db: Db
  /** Where it tells what nobody foresaw; a pino logger fits. */
  log: Record<'error' | 'warn', (facts: object, message: string) => void>
  /** Browser origins that may call; ours need not be among them. */
  corsOrigins: readonly string[]
  /** The service's version, for the documentation. */
  version: string
  /** The operations; the whole table unless a test brings its own. */
  operations?: readonly Operation[]
  /** The open test environment: its class family is another one. */
  open?: boolean
}

interface Route {
  method: Method
  path: string
  perform: Perform
}

/** The path family as a router: the last one of the app, since it answers every path. */
export async function createPathApi(options: PathApiOptions): Promise<Router> {
  const { db, spend, log, corsOrigins, version, operations = table, open } = options
  const frame: Frame = { ...options, once: await idempotency(db) }
  const served = [...operations, ...documentation(() => openApi(operations, version, open))]
  const find = pathMatcher(
    served.map((operation): Route => ({ ...operation, perform: performer(operation, frame) })),
  )
  const router = express.Router()
  router.use(crossOrigin(corsOrigins))
  router.use(async (request: Request & { id?: unknown }, response: Response) => {
    const requestId = String(request.id)
    response.setHeader('cache-control', 'no-store')
    const refuse = (thrown: unknown) => {
      const error = toServiceError(thrown)
      response.locals.refusal = errorCode(error.error)
      // A database that is away shows in the readiness and in the figures.
      if (error.status >= 500)
        log[error.status === 503 ? 'warn' : 'error']({ err: error.cause ?? error, requestId }, error.title)
      return problem(error, request.path, requestId)
    }
    const rendered = await spend('address', counted(request.ip ?? ''), response)
      .then(() => dispatch(find, { request, response, requestId, refuse }))
      .catch(refuse)
    await write(response, rendered).catch(() => response.destroy())
  })
  return router
}

/** Lets pages of these origins call and read what the head says; OPTIONS goes on, to be answered with Allow. */
const crossOrigin = (origins: readonly string[]) =>
  cors({
    origin: [...origins],
    credentials: true,
    preflightContinue: true,
    maxAge: 600,
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'DELETE'],
    exposedHeaders: [
      'ETag',
      'Link',
      'Location',
      'Retry-After',
      'RateLimit',
      'RateLimit-Policy',
      'X-Request-Id',
    ],
  })

/** @throws NotFound, MethodNotAllowed */
async function dispatch(find: ReturnType<typeof pathMatcher<Route>>, exchange: Exchange): Promise<Rendered> {
  const { path, method } = exchange.request
  const found = find(path)
  if (!found) throw new ServiceError('NotFound', { detail: 'There is nothing at this path.' })
  const route = found.routes.get((method === 'HEAD' ? 'get' : method.toLowerCase()) as Method)
  if (route) {
    exchange.response.locals.route = route.path
    return route.perform(exchange, named(route.path, found.values))
  }
  const allowed = [...found.routes.keys()]
    .map((name) => (name === 'get' ? 'GET, HEAD' : name.toUpperCase()))
    .join(', ')
  exchange.response.setHeader('allow', allowed)
  if (method === 'OPTIONS') return { status: 204, headers: {}, body: undefined }
  throw new ServiceError('MethodNotAllowed', { detail: `This path offers ${allowed}.` })
}

import cors, { type CorsOptions } from 'cors'
import express, { type Request, type RequestHandler, type Response, type Router } from 'express'
import type { Db } from 'mongodb'
import { ipKey } from '../records/limits/rate-limiter.ts'
import { isFullDisk } from '../records/store/documents/outage.ts'
import { errorCode, ServiceError } from '../schemas/errors.ts'
import { createDocumentationOperations } from './documentation/documentation-operations.ts'
import { createOpenApiDocument } from './documentation/openapi-document.ts'
import { createRunOnce } from './limits/idempotency.ts'
import { RunningDownloads } from './limits/running-downloads.ts'
import type { Method, Operation } from './operation/operation.ts'
import { operationTable } from './operation-table.ts'
import { prefersHtml, prefersPage, renderFailurePage } from './pages/failure-page.ts'
import { htmlBody } from './pages/page.ts'
import {
  createRequestHandler,
  type HandleRequest,
  type HandlerDependencies,
  type RequestContext,
} from './request/handle-request.ts'
import { createContextClass } from './request/headers/context-class.ts'
import { createPathMatcher, nameParameters } from './request/path-matcher.ts'
import { createErrorResponse, shortenPath } from './response/error-response.ts'
import { isFhirPath } from './response/operation-outcome.ts'
import { addPathPrefixToReply } from './response/path-prefix.ts'
import { toServiceError } from './response/problem-document.ts'
import { type RenderedResponse, writeResponse } from './response/rendered-response.ts'

/** Options of the path family. */
export interface PathApiOptions
  extends Omit<HandlerDependencies, 'contextClass' | 'downloads' | 'operations' | 'runOnce'> {
  /** Stores the responses to requests with an Idempotency-Key. */
  db: Db
  /** Logs unexpected errors; a pino logger fits. */
  log: Record<'error' | 'warn', (facts: object, message: string) => void>
  /** Permitted browser origins besides our own. */
  corsOrigins: readonly string[]
  /** Path of PUBLIC_URL, without a slash at its end. */
  pathPrefix: string
  /** Version for the documentation. */
  version: string
  /** Operations; tests may bring their own, default: the whole table. */
  operations?: readonly Operation[]
  /** The open test environment, whose class family differs. */
  open?: boolean
}

interface OperationRoute {
  method: Method
  path: string
  /** The reply is a page, or leads a browser to one. */
  isPage: boolean
  perform: HandleRequest
}

interface PathApi {
  router: Router
  /** Whether an operation has this path. */
  isServed(path: string): boolean
}

/** Creates the path family. Its router comes last in the app because it responds to every path. */
export async function createPathApiRouter(options: PathApiOptions): Promise<PathApi> {
  const { db, services, consume, log, corsOrigins, pathPrefix, version, open } = options
  const operations = (options.operations ?? operationTable).map((one) =>
    addPathPrefixToReply(one, pathPrefix),
  )
  const contextClass = createContextClass(services)
  const runOnce = await createRunOnce(db)
  const downloads = new RunningDownloads()
  const dependencies: HandlerDependencies = { ...options, operations, contextClass, runOnce, downloads }
  const servedOperations = [
    ...operations,
    ...createDocumentationOperations(
      () => createOpenApiDocument(operations, version, { pathPrefix, open }),
      pathPrefix,
    ),
  ]
  const find = createPathMatcher(servedOperations.map((one) => createRoute(one, dependencies)))
  const probes = pathsWith('probe', servedOperations)
  const router = express.Router()
  // The open test environment has no apps.
  const isAppOrigin = async (origin: string) => services.apps?.hasOrigin(origin) ?? false
  router.use(createCorsHandler(corsOrigins, pathsWith('publicDocument', operations), isAppOrigin))
  router.use(async (request: Request & { id?: unknown }, response: Response) => {
    const requestId = String(request.id)
    response.setHeader('cache-control', 'no-store')
    const refuse = (failure: unknown) => {
      const error = toServiceError(failure)
      response.locals.refusal = errorCode(error.error)
      if (error.status >= 500) log[logLevelOf(error)]({ err: error.cause ?? error, requestId }, error.title)
      const refusal = createErrorResponse(error, { path: request.path, pathPrefix, requestId })
      return isShownAsPage(find, request, error)
        ? renderFailurePage(request, refusal, services.terms, pathPrefix)
        : refusal
    }
    const rateCheck = probes.has(withoutSlash(request.path))
      ? Promise.resolve()
      : consume('address', ipKey(request.ip ?? ''), response)
    const renderedResponse = await rateCheck
      .then(() => dispatchRequest(find, { request, response, requestId, respondToError: refuse }))
      .catch(refuse)
    await writeResponse(response, renderedResponse, pathPrefix).catch(() => response.destroy())
  })
  return { router, isServed: (path) => findRoutes(find, path) !== undefined }
}

const createRoute = (operation: Operation, dependencies: HandlerDependencies): OperationRoute => ({
  ...operation,
  isPage: operation.reply[1] === htmlBody || operation.reply[0] === 303,
  perform: createRequestHandler(operation, dependencies),
})

const pathsWith = (flag: 'probe' | 'publicDocument', operations: readonly Operation[]): Set<string> =>
  new Set(operations.flatMap((one) => (one[flag] ? one.path : [])))

/** Operations accept a slash at the end of their path. */
const withoutSlash = (path: string): string => path.replace(/(?<=.)\/$/, '')

/** Readiness and metrics already show an unreachable database. */
const logLevelOf = (error: ServiceError): 'warn' | 'error' =>
  error.status === 503 && !isFullDisk(error) ? 'warn' : 'error'

/** Whether a browser shows the response to an error to a person: at an unknown URL, or at that of a page. */
const isShownAsPage = (find: FindRoutes, request: Request, error: ServiceError): boolean =>
  (error.status === 404 && prefersPage(request)) ||
  (prefersHtml(request) && [...(findRoutes(find, request.path)?.values() ?? [])].some(({ isPage }) => isPage))

type FindRoutes = ReturnType<typeof createPathMatcher<OperationRoute>>

/** The operations at a path; undefined for none, and for a path that cannot be decoded. */
function findRoutes(find: FindRoutes, path: string): ReadonlyMap<Method, OperationRoute> | undefined {
  try {
    return find(shortenPath(path))?.routes
  } catch {
    return undefined
  }
}

/**
 * Permits pages of these origins to call and to read the headers. OPTIONS continues and is answered with
 * Allow.
 */
function createCorsHandler(
  origins: readonly string[],
  publicDocuments: ReadonlySet<string>,
  isAppOrigin: (origin: string) => Promise<boolean>,
): RequestHandler {
  const forOwnPages = createCors({ origin: [...origins], credentials: true })
  const forApps = createCors({ origin: true })
  const forAll = createCors({ origin: '*' })
  return async (request, response, next) => {
    if (publicDocuments.has(withoutSlash(request.path))) return forAll(request, response, next)
    const { origin = '' } = request.headers
    const isForApps =
      origin !== '' &&
      APP_PATHS.test(request.path) &&
      !origins.includes(origin) &&
      (await isAppOrigin(origin))
    return isForApps ? forApps(request, response, next) : forOwnPages(request, response, next)
  }
}

/** Pages of registered apps may call these, without cookies. */
const APP_PATHS = /^\/(fhir\/R4|auth\/smart)(\/|$)/

const createCors = (options: CorsOptions) =>
  cors({
    ...options,
    preflightContinue: true,
    maxAge: 600,
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
    exposedHeaders: [
      'Content-Location',
      'ETag',
      'Link',
      'Location',
      'Retry-After',
      'WWW-Authenticate',
      'RateLimit',
      'RateLimit-Policy',
      'X-Progress',
      'X-Request-Id',
    ],
  })

/** @throws NotFound, MethodNotAllowed */
async function dispatchRequest(find: FindRoutes, requestContext: RequestContext): Promise<RenderedResponse> {
  const { path, method } = requestContext.request
  const match = find(shortenPath(path))
  if (!match || (isFhirPath(path) && match.values.some((one) => /^[$_]/.test(one ?? ''))))
    throw new ServiceError('NotFound', {
      detail: 'There is no operation at this path. The operations are described at /openapi.json.',
    })
  const route = match.routes.get((method === 'HEAD' ? 'get' : method.toLowerCase()) as Method)
  if (route) {
    requestContext.response.locals.route = route.path
    return route.perform(requestContext, nameParameters(route.path, match.values))
  }
  const allowedMethods = [...match.routes.keys()]
    .map((name) => (name === 'get' ? 'GET, HEAD' : name.toUpperCase()))
    .join(', ')
  requestContext.response.setHeader('allow', allowedMethods)
  if (method === 'OPTIONS') return { status: 204, headers: {}, body: undefined }
  throw new ServiceError('MethodNotAllowed', { detail: `This path supports ${allowedMethods}.` })
}

import type { Express, RequestHandler } from 'express'
import type { Logger } from 'pino'
import { ipKey, type RateLimiter } from '../../records/limits/rate-limiter.ts'
import { describeDisabledEndpoint, disabledRoutes } from './disabled-endpoints.ts'
import { replaceBodyParser } from './request/body-parser.ts'
import { parseErrorCode } from './request/parse-request.ts'
import { isRead, normalizePath, type RequestPart } from './request/request-parts.ts'
import { startRequestDeadline } from './response/request-deadline.ts'
import { normalizeResponse, respondToUnhandled } from './response/response-pipeline.ts'

interface ClassFamilyDependencies {
  trustProxy: unknown
  /** Whether this is the open test environment, whose mails lead to Parse's own pages. */
  open: boolean
  log: Logger
  consume: RateLimiter
  /** @param time of `performance.now()` */
  wasDatabaseLostSince(time: number): boolean
}

/** Creates the handler of the class family, with uniform errors and rate limits. */
export function createClassFamilyHandler(
  parse: Express,
  { trustProxy, open, log, consume, wasDatabaseLostSince }: ClassFamilyDependencies,
): RequestHandler {
  parse.set('trust proxy', trustProxy)
  parse.disable('x-powered-by')
  // Nobody may store a response. The ETag of an object is its version.
  parse.disable('etag')
  replaceBodyParser(parse)
  return (req, res) => {
    res.set('Cache-Control', 'no-store')
    const begin = performance.now()
    normalizeResponse(res, () => wasDatabaseLostSince(begin))
    startRequestDeadline(req, res)
    const respondUnhandled = (error?: unknown) => respondToUnhandled(error, res, log)
    if (!open && /^\/apps(\/|$)/i.test(req.path)) return respondUnhandled()
    // Parse serves files before it authenticates the caller, and does not explain why it refuses a path.
    if (!open && !ROUTED_PATH.test(req.path))
      return res
        .status(400)
        .json({ code: parseErrorCode.forbidden, error: describeDisabledEndpoint(req.path) })
    const rateLimitCheck = PROBE_PATH.test(req.path)
      ? Promise.resolve()
      : consume('address', ipKey(req.ip ?? ''), res)
    rateLimitCheck.then(() => parse(req, res, respondUnhandled), respondUnhandled)
  }
}

/** The state of Parse Server; answered even by an overloaded service. */
const PROBE_PATH = /^\/health\/?$/

/** Users, and class names without a leading underscore: internal classes have no route. */
export const allowedRoutes = [
  'classes/(_User|[A-Za-z][A-Za-z0-9_]*)(/[^/]+)?',
  'functions/[A-Za-z0-9_]+',
  '[Ll]ogin',
  'logout',
  'users(/[^/]+)?',
  '[Ss]essions/me',
  'requestPasswordReset',
  'verificationEmailRequest',
  'batch',
  'health',
  'apps/.*',
]

const ALLOWED_PATH = new RegExp(`^/(${allowedRoutes.join('|')})/?$`)
/** Paths that Parse passes on to our middleware. */
const ROUTED_PATH = new RegExp(`^/(${[...allowedRoutes, ...disabledRoutes].join('|')})/?$`)

/** Whether a route outside of classes is served. Parse checks it for everyone except the master key. */
export const isServedRoute = (part: RequestPart): boolean =>
  ALLOWED_PATH.test(part.path) && (normalizePath(part.path) !== OWN_SESSION_PATH || isRead(part))

/** Routes for users without a session. */
const PUBLIC_ROUTES = [
  '/users',
  '/login',
  '/requestpasswordreset',
  '/verificationemailrequest',
  '/functions/login',
]

/** Parse does not check the owner of the session here; our handler does. */
const OWN_SESSION_PATH = '/sessions/me'

export function isPublicRequest({ method, path }: RequestPart): boolean {
  const route = normalizePath(path)
  if (route === OWN_SESSION_PATH) return method === 'GET'
  return PUBLIC_ROUTES.includes(route) && (method === 'POST' || route === '/login')
}

/** Functions have no version in their path, and `/Login` is at the root, too. */
export const isServedAtRoot = (path: string): boolean => /^\/(functions\/|login\/?$)/i.test(path)

const KNOWN_ROUTE =
  /^(\/1)?\/(functions\/\w{1,64}|login|logout|users|users\/me|sessions\/me|batch|requestPasswordReset|verificationEmailRequest)\/?$/i

/** Route template for logs and metrics: with names of classes and functions, without ids. */
export function classFamilyRouteTemplate(path: string): string | undefined {
  if (/^\/1\/users\/(?!me\/?$)[^/]+\/?$/i.test(path)) return '/1/users/{objectId}'
  const [, className, objectId] = /^\/1\/classes\/(\w{1,64})(\/[^/]+)?\/?$/.exec(path) ?? []
  if (className) return `/1/classes/${className}${objectId ? '/{objectId}' : ''}`
  if (path.startsWith('/1/apps/')) return '/1/apps'
  return KNOWN_ROUTE.test(path) ? path : undefined
}

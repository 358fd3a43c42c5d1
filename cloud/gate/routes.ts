import type { Express, RequestHandler } from 'express'
import type { Logger } from 'pino'
import { counted, type Spend } from '../../records/limits/rate-limits.ts'
import { notOffered } from './not-offered.ts'
import { code } from './request/parse-request.ts'
import { plainPath, type RequestPart } from './request/request-parts.ts'
import { answerUnhandled, speakErrors } from './response/answer.ts'
import { startDeadline } from './response/deadline.ts'

interface ClassFamilyParts {
  trustProxy: unknown
  /** The open test environment: its mails lead to Parse's own pages. */
  open: boolean
  log: Logger
  spend: Spend
}

/** Parse Server as one handler that answers everything it is given, in one language, as often as the limits allow. */
export function classFamily(
  parse: Express,
  { trustProxy, open, log, spend }: ClassFamilyParts,
): RequestHandler {
  parse.set('trust proxy', trustProxy)
  return (req, res) => {
    speakErrors(res)
    startDeadline(req, res)
    const unhandled = (error?: unknown) => answerUnhandled(error, res, log)
    if (!open && /^\/apps(\/|$)/i.test(req.path)) return unhandled()
    // Parse answers these before it looks who asks.
    if (!open && /^\/(files|graphql)(\/|$)/i.test(req.path))
      return res.status(400).json({ code: code.forbidden, error: notOffered(req.path) })
    spend('address', counted(req.ip ?? ''), res).then(() => parse(req, res, unhandled), unhandled)
  }
}

/** Users, and class names that do not begin with an underscore: the internal classes have no route. */
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

const allowed = new RegExp(`^/(${allowedRoutes.join('|')})/?$`)

/** Whether a path, without the mount, is one of ours; Parse itself asks that of everybody but the master key. */
export const isAllowed = (path: string): boolean => allowed.test(path)

/** The routes that serve people who have no session yet. */
const openRoutes = [
  '/users',
  '/login',
  '/requestpasswordreset',
  '/verificationemailrequest',
  '/functions/login',
]

/** Parse does not look whose session it is: whoever answers does. */
const OWN_SESSION = '/sessions/me'

export function isOpenToAll({ method, path }: RequestPart): boolean {
  const route = plainPath(path)
  if (route === OWN_SESSION) return method === 'GET'
  return openRoutes.includes(route) && (method === 'POST' || route === '/login')
}

/** Functions have no version in their path, and `/Login` stands beside them. */
export const servesAtRoot = (path: string): boolean => /^\/(functions\/|login\/?$)/i.test(path)

const known =
  /^(\/1)?\/(functions\/\w{1,64}|login|logout|users|users\/me|sessions\/me|batch|requestPasswordReset|verificationEmailRequest)\/?$/i

/** The route template for logs and figures: class and function names show, ids do not. */
export function classFamilyRoute(path: string): string | undefined {
  if (/^\/1\/users\/(?!me\/?$)[^/]+\/?$/i.test(path)) return '/1/users/{objectId}'
  const [, className, objectId] = /^\/1\/classes\/(\w{1,64})(\/[^/]+)?\/?$/.exec(path) ?? []
  if (className) return `/1/classes/${className}${objectId ? '/{objectId}' : ''}`
  if (path.startsWith('/1/apps/')) return '/1/apps'
  return known.test(path) ? path : undefined
}

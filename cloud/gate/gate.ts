import type { RequestHandler, Response } from 'express'
import { counted, type Spend } from '../../records/limits/rate-limits.ts'
import type { Records } from '../../records/store/writing/transaction.ts'
import { loadParseServer } from '../parse-server/internals.ts'
import { auditAnswer } from './audit/answers.ts'
import { distinctValues } from './query/distinct.ts'
import { checkListFields, type ListQuery, readListQuery } from './query/list-query.ts'
import { checkBody } from './request/body.ts'
import type { Call } from './request/call.ts'
import { code, type ParseRequest, Refusal } from './request/parse-request.ts'
import { isAllowed } from './routes.ts'
import { checkOperations, checkWritten } from './write-checks.ts'

interface GateParts {
  /** The open test environment. */
  open: boolean
  records: Records
  spend: Spend
}

/**
 * Stands inside Parse, behind the keys and the session and before every route: nobody passes without a session
 * (open test environment: everybody does, and nothing is audited), no list is read with parameters that were not
 * checked, no answer leaves that the audit does not know.
 */
export function createGate({ open, records, spend }: GateParts): RequestHandler {
  return async (request, res, next) => {
    const req = request as unknown as ParseRequest
    try {
      const calls = isBatch(req)
        ? await batchedCalls(req)
        : [{ method: req.method, path: req.path, carrier: req }]
      await limit(req, res, calls.length, spend)
      const query = await check(req, calls, open)
      if (!open) {
        await letAdministrate(req)
        auditAnswer(req, res, calls, records)
      }
      if (query?.distinct !== undefined) res.json(await distinctValues(req, classOf(req.path), query))
      else next()
    } catch (error) {
      if (!(error instanceof Refusal)) return next(error)
      if (error.status === 405) res.set('Allow', 'POST')
      res.status(error.status).json({ code: error.code, error: error.message })
    }
  }
}

/** Each part of a batch counts; of the address, the request itself is counted already. */
async function limit(
  { auth, ip = '' }: ParseRequest,
  res: Response,
  parts: number,
  spend: Spend,
): Promise<void> {
  if (parts > 1) await spend('address', counted(ip), res, parts - 1)
  if (auth.user) await spend('account', auth.user.id, res, Math.max(parts, 1))
}

/** @returns the parameters, when the request asks for a list */
async function check(req: ParseRequest, calls: Call[], open: boolean): Promise<ListQuery | undefined> {
  const { isMaster, user } = req.auth
  checkBody(req.body)
  // The context of triggers is ours: a client must not be able to write into it.
  if (!isMaster) req.info.context = {}
  if (!open && !isMaster && !user && !calls.every(isOpenToAll))
    throw new Refusal(401, code.invalidSession, 'Invalid session token')
  if (!open && !calls.every(({ path }) => isAllowed(path)))
    throw new Refusal(400, code.forbidden, 'Permission denied')
  calls.forEach(checkAccountFields)
  if (plain(req.path) === '/login') keepOutOfUrl(req)
  for (const { method, path, carrier } of calls.filter(isWrite)) {
    checkWritten(carrier.body, method)
    await checkOperations(req, classOf(path), carrier.body)
  }
  const lists = await Promise.all(calls.filter(isList).map((call) => readList(req, call)))
  if (!isBatch(req)) return lists[0]
  if (lists.some(({ distinct }) => distinct !== undefined))
    throw new Refusal(400, code.invalidQuery, 'distinct cannot be used inside a batch')
  return undefined
}

/**
 * Administrators delete EHRs that they may not see. Parse looks for what is to be deleted with the rights of the one who
 * asks, and a batch has the same rights in all of its parts: there they find nothing.
 */
async function letAdministrate({ method, path, auth }: ParseRequest): Promise<void> {
  if (method !== 'DELETE' || !/^\/classes\/Ehr\/[^/]+\/?$/.test(path)) return
  if (auth.user && (await auth.getUserRoles()).includes('role:admin')) auth.isMaster = true
}

/** Leaves one form of the parameters: checked, typed and in the body. */
async function readList(req: ParseRequest, { path, carrier }: Call): Promise<ListQuery> {
  const query = readListQuery(carrier === req ? { ...req.body, ...req.query } : (carrier.body ?? {}))
  await checkListFields(req, classOf(path), query)
  carrier.body = query
  if (carrier === req) req.url = req.path
  return query
}

/** The routes that serve people who have no session yet. */
const openRoutes = [
  '/users',
  '/login',
  '/requestpasswordreset',
  '/verificationemailrequest',
  '/functions/login',
]

function isOpenToAll({ method, path }: Call): boolean {
  const route = plain(path)
  return openRoutes.includes(route) && (method === 'POST' || route === '/login')
}

/** Accounts have a password and are kept in lower case: one address is one account, however it is written. */
function checkAccountFields(call: Call): void {
  const body = (call.carrier.body ?? {}) as Record<string, unknown>
  if (body.authData)
    throw new Refusal(400, code.unsupportedService, 'Accounts of the class family have a password')
  if (!isOpenToAll(call)) return
  for (const name of ['username', 'email']) {
    const value = body[name]
    if (typeof value === 'string') body[name] = value.toLowerCase()
  }
}

/** Logs and histories keep URLs: no password may stand in one. */
function keepOutOfUrl(req: ParseRequest): void {
  if (req.method !== 'POST' && req.originalMethod !== 'POST')
    throw new Refusal(405, code.forbidden, 'Log in with POST')
  req.url = req.path
}

const plain = (path: string): string => path.toLowerCase().replace(/\/+$/, '')
const isBatch = (req: ParseRequest): boolean => req.method === 'POST' && plain(req.path) === '/batch'
const isWrite = ({ method, path }: Call): boolean =>
  (method === 'POST' || method === 'PUT') && /^\/(classes|users)\b/i.test(path)
const isList = ({ method, path }: Call): boolean =>
  (method === 'GET' || method === 'HEAD') && /^\/(classes\/[^/]+|users)\/?$/i.test(path)
const classOf = (path: string): string => /^\/classes\/([^/]+)/i.exec(path)?.[1] ?? '_User'

const methods = new Set<unknown>(['GET', 'POST', 'PUT', 'DELETE'])

/** The parts of a batch, their paths as Parse will route them. Parse checks their number. */
async function batchedCalls({ body, originalUrl, config }: ParseRequest): Promise<Call[]> {
  const { requests, transaction } = (body ?? {}) as { requests?: unknown; transaction?: unknown }
  // Triggers write beside it, and Parse answers 500 when a part of it fails.
  if (transaction) throw new Refusal(400, code.invalidJson, 'a batch cannot be a transaction')
  if (!Array.isArray(requests)) throw new Refusal(400, code.invalidJson, 'requests must be an array')
  const { routablePaths } = await loadParseServer()
  const routed = routablePaths(originalUrl, config.serverURL, config.publicServerURL)
  return requests.map((part: { method?: unknown; path?: unknown; body?: unknown } | null) => {
    const { method, path, body } = part ?? {}
    const plainPath = typeof path === 'string' && !/[?#]|\/\/|\.\./.test(path)
    if (!part || !plainPath || !methods.has(method) || (body && typeof body !== 'object'))
      throw new Refusal(
        400,
        code.invalidJson,
        'a batched request has a method, a plain path and an object as body',
      )
    return { method, path: routed(path), carrier: part }
  })
}

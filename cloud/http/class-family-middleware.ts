import type { NextFunction, RequestHandler, Response } from 'express'
import { classKindOf, isClassName } from '../../records/kinds.ts'
import type { Admission, AdmissionControl } from '../../records/limits/admission/admission-control.ts'
import { ipKey, type RateLimiter } from '../../records/limits/rate-limiter.ts'
import type { ExpectedVersions } from '../../records/store/write-decider.ts'
import type { StoreContext } from '../../records/store/writing/transaction.ts'
import type { ActingHelper } from '../../schemas/accounts/helper.ts'
import { storedToClassForm } from '../../schemas/forms/class-form.ts'
import { encodeQueryKeys } from '../parse-server/adapter/query-keys.ts'
import {
  createRequestAdapter,
  type ObjectWriteRequest,
} from '../parse-server/adapter/request/request-database.ts'
import type { RequestReadLimits } from '../parse-server/adapter/request/request-reads.ts'
import { loadCaller } from '../request/caller.ts'
import { helperFor } from '../request/helper-sessions.ts'
import { hideOtherUsers } from '../request/hide-other-users.ts'
import { isAccountRequest } from './accounts/account-routes.ts'
import { auditResponse } from './audit/audit-response.ts'
import { recordAccessOf, requireFewNamedIds } from './audit/record-access.ts'
import { isPublicRequest, isServedRoute } from './class-family-routes.ts'
import {
  describeDisabledEndpoint,
  describeReadOnlyClass,
  describeUnknownClass,
} from './disabled-endpoints.ts'
import {
  authenticateHelper,
  createReadCheck,
  type FindHelper,
  limitToHelper,
  requireOfferedToHelper,
} from './helper-access.ts'
import { PartChecks } from './part-checks.ts'
import { findDistinctValues } from './query/distinct-values.ts'
import { type ListQuery, readListQuery, readObjectParameters } from './query/list-query.ts'
import { createQueryFieldCheck, quoteInput } from './query/query-fields.ts'
import { createQueryBudget, type QueryRules } from './query/where.ts'
import {
  isReadOnlyEndpoint,
  isReadOnlyRequest,
  narrowResponse,
  requireReadOnlyUse,
} from './read-only-access.ts'
import { checkJson, checkJsonSize, sentOffsetOf } from './request/json-validation.ts'
import { type ParseRequest, parseErrorCode, Refusal, requireEnabledAccount } from './request/parse-request.ts'
import {
  hasBody,
  isBatch,
  isList,
  isRead,
  isRetrieval,
  isWrite,
  normalizePath,
  type RequestPart,
  readRequestParts,
} from './request/request-parts.ts'
import { createServedClassCheck, fieldTypeOf, type IsServedClass } from './request/served-classes.ts'
import { createRequestIds } from './request-ids.ts'
import { getDatabaseTime } from './response/request-deadline.ts'
import {
  convertObjects,
  isResponded,
  respondToDatabaseError,
  setVersionHeader,
} from './response/response-pipeline.ts'
import { checkAccountBody, checkAccountChange } from './write/account-body.ts'
import { type EntityTags, findNamedClass, readIfMatch } from './write/if-match.ts'
import { checkProperties } from './write/property-checks.ts'

interface MiddlewareDependencies {
  /** Whether this is the open test environment. */
  open: boolean
  context: StoreContext
  consume: RateLimiter
  admissionControl: AdmissionControl
  /** Serves account requests; in the open test environment Parse does. */
  accounts: RequestHandler
  entityTags: EntityTags
  findHelper: FindHelper
}

/**
 * Runs inside Parse, after the checks of keys and session and before every route. It requires a session,
 * validates every query and body, and audits every response. The open test environment has neither sessions
 * nor audit.
 */
export function createClassFamilyMiddleware({
  open,
  context,
  consume,
  admissionControl,
  accounts,
  entityTags,
  findHelper,
}: MiddlewareDependencies): RequestHandler {
  const serves = createServedClassCheck(open)
  const claimRequestId = createRequestIds(context.db)
  const toClassForm = open ? () => undefined : convertOwnClasses
  return async (request, res, next) => {
    const req = request as unknown as ParseRequest
    req.auth ??= ANONYMOUS
    // Location leads to the public URL. Parse takes that of the request, which may be the proxy's.
    req.config.mount = req.config.publicServerURL
    try {
      const parts = await readRequestParts(req)
      const helper = await authenticateHelper(req, findHelper)
      const timeLeft = getDatabaseTime(
        res,
        parts.some((part) => isList(part) || isRetrieval(part)),
      )
      if (!timeLeft) return
      await consumeRateLimits(req, res, parts.length, consume)
      requireAllowed(req, parts, open)
      const checks = new PartChecks(req, parts)
      await checks.run((part) => requireServed(req, part, { open, serves, helper }))
      const admission = await admitRequest(req, res, admissionControl)
      const expected = readIfMatch(req, parts, entityTags)
      const limits = { timeLeft, admission, isReadable: createReadCheck(helper, parts), toClassForm }
      openStorage(req, res, { ...limits, etagOf: entityTags.etagOf, expected })
      requireNoUnknownParameters(req, parts)
      await checks.run((part) => checkWrite(req, part))
      const checkField = createQueryFieldCheck(open, req.auth.isMaster)
      const rules = { serves: limitToHelper(serves, helper), checkField, budget: createQueryBudget() }
      let query: ListQuery | undefined
      await checks.run((part) => {
        query = normalizeQuery(req, part, rules) ?? query
      })
      checks.removeRefused(res)
      if (!open) auditParts(req, res, checks.acceptedParts, context)
      limitResponse(req, res, parts, { open, serves, etagOf: entityTags.etagOf })
      await claimRequestId(req, res, checks.acceptedParts)
      if (query?.distinct !== undefined)
        res.json(await findDistinctValues(req, parts[0]?.className ?? '', query))
      else if (open) next()
      else accounts(request, res, next)
    } catch (error) {
      respondToError(error, res, next)
    }
  }
}

/** Limits the response to what the caller may see, and adds the version of an object. */
function limitResponse(
  req: ParseRequest,
  res: Response,
  parts: RequestPart[],
  { open, serves, etagOf }: Pick<EntityTags, 'etagOf'> & { open: boolean; serves: IsServedClass },
): void {
  const { user } = req.auth
  if (!open && isReadOnlyEndpoint(req)) narrowResponse(res, serves)
  else if (findNamedClass(req, parts)) setVersionHeader(res, etagOf)
  if (!open)
    convertObjects(res, (object) => {
      const fields = withoutClassName(object)
      return user ? hideOtherUsers(fields, user.id) : fields
    })
}

/** Parse Server adds the name of the class to an Ehr, since the class has a trigger after queries. */
function withoutClassName(object: object): object {
  if (!('objectId' in object && 'className' in object)) return object
  const { className: _, ...fields } = object
  return fields
}

function respondToError(error: unknown, res: Response, next: NextFunction): void {
  if (respondToDatabaseError(error, res)) return
  if (error instanceof Refusal) {
    if (error.status === 405) res.set('Allow', 'POST')
    res.status(error.status).json({ code: error.code, error: error.message })
  } else next(error)
}

/** Gives the request a storage adapter, and the triggers the facts about its writes. */
function openStorage(
  req: ParseRequest,
  res: Response,
  { etagOf, expected, ...limits }: Pick<EntityTags, 'etagOf'> & StorageTerms,
): void {
  const { config, auth } = req
  const headers = { 'x-request-id': req.get('x-request-id') }
  const write: ObjectWriteRequest = {
    expected,
    tellVersion: (version) => void res.set('ETag', etagOf(version)),
    caller: () => loadCaller({ master: auth.isMaster, user: auth.user, config, headers }),
    async forgetRoles() {
      if (auth.user) await config.cacheController.role.del(auth.user.id)
    },
  }
  createRequestAdapter(config.database, limits)
  Object.assign(req.info.context, { write })
}

/** Objects of the open test environment may have any fields, and Parse Server's classes have fields of other forms. */
const convertOwnClasses: RequestReadLimits['toClassForm'] = (className, document) =>
  isClassName(className) ? storedToClassForm(document) : undefined

interface StorageTerms extends RequestReadLimits {
  expected: ExpectedVersions
}

/** Caller of requests for which Parse has loaded no session. */
const ANONYMOUS: ParseRequest['auth'] = { isMaster: false, getUserRoles: async () => [] }

/** Counts each request of a batch. The limit by address has already counted the request itself. */
async function consumeRateLimits(
  { auth, ip = '' }: ParseRequest,
  res: Response,
  parts: number,
  consume: RateLimiter,
): Promise<void> {
  if (parts > 1) await consume('address', ipKey(ip), res, parts - 1)
  const user = helperFor(auth.user)?.helperId ?? auth.user?.id
  if (user) await consume('account', user, res, Math.max(parts, 1))
}

/** Waits until the service has time for the request. @throws TooManyRequests, Unavailable */
async function admitRequest(
  { auth, ip = '' }: ParseRequest,
  res: Response,
  admissionControl: AdmissionControl,
): Promise<Admission> {
  const account = helperFor(auth.user)?.helperId ?? auth.user?.id ?? ipKey(ip)
  res.locals.account = account
  const admission = await admissionControl.admit(account, () => res.closed || isResponded(res))
  const release = () => admission.release(res.statusCode >= 500 || res.statusCode === 408)
  // A client that reads slowly must not keep others waiting.
  res.once('prefinish', release)
  res.once('close', release)
  return admission
}

/** @throws Refusal for callers without permission, and for a body that is too large */
function requireAllowed(req: ParseRequest, parts: RequestPart[], open: boolean): void {
  const { isMaster, user } = req.auth
  if (!open) requireEnabledAccount(req)
  if (isBatch(req)) checkJsonSize(req.body)
  if (isReadOnlyRequest(req)) requireReadOnlyUse(req, parts)
  // Clients must not write into the context of triggers.
  if (!isMaster) req.info.context = {}
  if (!open && !isMaster && !user && !parts.every((part) => isPublicRequest(part) || isDisabled(part)))
    throw new Refusal(
      401,
      parseErrorCode.invalidSession,
      'This request needs a session. Log in with POST /1/login and send X-Parse-Session-Token.',
    )
  if (normalizePath(req.path) === '/login') requireLoginByPost(req)
}

const isDisabled = (part: RequestPart): boolean => part.className === undefined && !isServedRoute(part)

/** @throws Refusal for invalid JSON, and for endpoints and classes that are not served, or not to a helper */
function requireServed(
  req: ParseRequest,
  part: RequestPart,
  { open, serves, helper }: { open: boolean; serves: IsServedClass; helper: ActingHelper | undefined },
): void {
  const { isMaster } = req.auth
  const { className, carrier, path } = part
  checkJson(carrier.body)
  if (!open && isDisabled(part) && !isReadOnlyEndpoint(req))
    throw new Refusal(400, parseErrorCode.forbidden, describeDisabledEndpoint(path))
  if (!open && !isMaster && isBatch(req) && isAccountRequest(part))
    throw new Refusal(
      400,
      parseErrorCode.forbidden,
      'A batch must not contain requests about accounts. Send them one by one.',
    )
  if (className !== undefined && !serves(className))
    throw new Refusal(400, parseErrorCode.forbidden, describeUnknownClass(className))
  if (!open && !isMaster && !isRead(part) && isClassName(className) && classKindOf(className).readOnly)
    throw new Refusal(400, parseErrorCode.forbidden, describeReadOnlyClass(className))
  if (helper) requireOfferedToHelper(helper, part)
}

/** @throws Refusal for requests without a limit of the objects that they concern */
function auditParts(req: ParseRequest, res: Response, parts: RequestPart[], context: StoreContext): void {
  const requests = parts.map(recordAccessOf)
  requireFewNamedIds(requests)
  auditResponse(req, res, requests, context)
}

async function checkWrite(req: ParseRequest, part: RequestPart): Promise<void> {
  const { method, className, carrier } = part
  if (className === '_User' || isPublicRequest(part)) checkAccountBody(carrier.body)
  if (!isWrite(part) || className === undefined) return
  if (method === 'PUT' && !hasBody(req, part))
    throw new Refusal(
      400,
      parseErrorCode.invalidJson,
      'The body must be a JSON object with the properties to change.',
    )
  if (className === '_User' && method === 'PUT') checkAccountChange(carrier.body)
  dropClassName(className, carrier.body)
  keepUtcOffset(className, carrier.body)
  await checkProperties(req, { method, className, body: carrier.body })
}

/** Parse names the class of some objects that it shows, and clients send the whole object back. */
function dropClassName(className: string, body: unknown): void {
  const object = (body ?? {}) as { className?: unknown }
  if (object.className === className) delete object.className
}

/** Keeps the offset of a measurement's time, which is otherwise stored in UTC. */
function keepUtcOffset(className: string, body: unknown): void {
  const values = (body ?? {}) as { timestamp?: unknown; utcOffset?: unknown }
  const offset = sentOffsetOf(values.timestamp)
  if (offset !== undefined && fieldTypeOf(className, 'utcOffset') !== undefined) values.utcOffset ??= offset
}

/** @throws Refusal for query parameters of a request that is not a query */
function requireNoUnknownParameters(req: ParseRequest, parts: RequestPart[]): void {
  const isQuery = parts.some((part) => part.carrier === req && (isList(part) || isRetrieval(part)))
  const [name] = isQuery || req.auth.isMaster ? [] : Object.keys(req.query)
  if (name !== undefined)
    throw new Refusal(400, parseErrorCode.invalidQuery, `This request has no parameter ${quoteInput(name)}.`)
}

/**
 * Normalises the parameters of a query: checks and types them and moves them into the body.
 * @returns those of a list
 */
function normalizeQuery(req: ParseRequest, part: RequestPart, rules: QueryRules): ListQuery | undefined {
  const { className = '', carrier } = part
  if (!isList(part) && !isRetrieval(part)) return undefined
  const parameters =
    carrier === req ? { ...(req.body as object), ...req.query } : { ...(carrier.body as object) }
  const list = isList(part) ? readListQuery(parameters, className, rules) : undefined
  if (isBatch(req) && list?.distinct !== undefined)
    throw new Refusal(
      400,
      parseErrorCode.invalidQuery,
      'distinct is not available in a batch. Send the query alone.',
    )
  if (list) carrier.body = list.where ? { ...list, where: encodeQueryKeys(list.where) } : list
  else carrier.body = readObjectParameters(parameters, className, rules)
  if (carrier === req) req.url = req.path
  return list
}

/** Logs and browser histories keep URLs, so a URL must not contain a password. */
function requireLoginByPost(req: ParseRequest): void {
  if (req.method !== 'POST' && req.originalMethod !== 'POST')
    throw new Refusal(
      405,
      parseErrorCode.forbidden,
      'GET /1/login is not accepted because it puts the password into the URL. Use POST /1/login.',
    )
}

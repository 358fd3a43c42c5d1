import { Readable } from 'node:stream'
import type { Request, Response } from 'express'
import { hashSecret } from '../../records/accounts/user/secret.ts'
import { compartmentOf } from '../../records/ehrs/rights/access.ts'
import type { Admission, AdmissionControl } from '../../records/limits/admission/admission-control.ts'
import { hashedKey, ipKey, type RateLimiter } from '../../records/limits/rate-limiter.ts'
import type { Caller } from '../../records/store/documents/caller.ts'
import { QUERY_TIMEOUT_MS, runWithDeadline } from '../../records/store/reading/deadlines.ts'
import type { AppPermit } from '../../schemas/accounts/app.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { type IdempotentRequest, parseIdempotencyKey, type RunOnce } from '../limits/idempotency.ts'
import type { RunningDownloads } from '../limits/running-downloads.ts'
import {
  isAccessPermitted,
  type Principal,
  requireOfferedToHelpers,
  requirePermissionChecked,
} from '../operation/access.ts'
import type { Operation } from '../operation/operation.ts'
import type { Services } from '../operation/services.ts'
import { isUnchanged } from '../reply/etag.ts'
import { sessionCookie } from '../reply/reply.ts'
import { toServiceError } from '../response/problem-document.ts'
import { type RenderedResponse, renderResponse } from '../response/rendered-response.ts'
import { superviseHandler } from './handler-supervision.ts'
import type { createContextClass } from './headers/context-class.ts'
import { mediaTypesOfReply, negotiateMediaType } from './headers/media-type.ts'
import { findReadOnlyProperties, requireUnchanged } from './read-only-properties.ts'
import { createInputReader, locateInInput, type RequestInput } from './request-input.ts'
import { authenticateRequest, requireOwnForm, type TokenPolicy } from './token.ts'

/** Dependencies of every request handler. */
export interface HandlerDependencies {
  services: Services
  contextClass: ReturnType<typeof createContextClass>
  /** The whole table. */
  operations: readonly Operation[]
  tokens: TokenPolicy
  consume: RateLimiter
  admissionControl: AdmissionControl
  runOnce: RunOnce
  downloads: RunningDownloads
  /** Supervise the handlers in tests and development, see handler-supervision.ts. */
  checking: boolean
}

/** A request with its pending response. */
export interface RequestContext {
  request: Request
  response: Response
  requestId: string
  /** Converts an error to a problem document, and logs unexpected errors. */
  respondToError(error: unknown): RenderedResponse
}

export type HandleRequest = (
  requestContext: RequestContext,
  params: Record<string, string>,
) => Promise<RenderedResponse>

/**
 * Creates the request handler of an operation: authenticate, receive the input, wait for admission, and carry it out.
 */
export function createRequestHandler(operation: Operation, dependencies: HandlerDependencies): HandleRequest {
  const readOnly = findReadOnlyProperties(operation, dependencies.operations)
  const { receive, read } = createInputReader(operation, readOnly?.names)
  const { tokens, consume, admissionControl } = dependencies
  const carryOut = createInputHandler(operation, dependencies, readOnly)
  return async (requestContext, params) => {
    const { request, response } = requestContext
    requireAcceptable(request, operation)
    if (operation.setsCookie) requireOwnForm(request, tokens)
    const principal = await authenticate(requestContext, operation, dependencies)
    if (principal?.isSystem && operation.api !== 'openehr')
      throw new ServiceError('Forbidden', { detail: 'Connected systems can use the openEHR REST API only.' })
    if (principal?.app && operation.api !== 'fhir')
      throw new ServiceError('Forbidden', { detail: 'Apps can use the FHIR API only.' })
    if (principal?.helper) requireOfferedToHelpers(operation)
    const user = principal && countedUserOf(principal)
    if (user) await consume('account', user, response)
    const bytes = await receive(request, response)
    if (operation.probe) return carryOut(requestContext, principal, read(request, bytes, params))
    const account = user ?? ipKey(request.ip ?? '')
    response.locals.account = account
    const admission = await admissionControl.admit(account, () => response.closed)
    try {
      const renderedResponse = await carryOut(
        requestContext,
        principal,
        read(request, bytes, params),
        admission,
      )
      dependencies.downloads.add(
        account,
        renderedResponse.body,
        createRightsCheck(dependencies.services, principal),
      )
      admission.release(isServiceFailure(renderedResponse.status))
      return renderedResponse
    } catch (error) {
      admission.release(isServiceFailure(toServiceError(error).status))
      throw error
    }
  }
}

/** Creates a check that the session or the app's grant still exists. */
function createRightsCheck(
  { appGrants }: Services,
  principal: Principal | undefined,
): (() => Promise<boolean>) | undefined {
  if (!principal || principal.isSystem) return undefined
  const { mvUid: userId, app, sessionId } = principal
  const holder = { userId, ...(app && appLimitsOf(app)) }
  return async () => (await appGrants.findRights(holder, sessionId)) !== undefined
}

/** A helper uses up the helper's own limits, not those of the other person. */
const countedUserOf = ({ helper, mvUid }: Principal): string => helper?.helperId ?? mvUid

/** Whether a request failed because of the service: its duration then says nothing about others. */
const isServiceFailure = (status: number): boolean => status >= 500 || status === 408

type HandleInput = (
  requestContext: RequestContext,
  principal: Principal | undefined,
  input: RequestInput,
  admission?: Admission,
) => Promise<RenderedResponse>

/** Creates the part of a request handler that follows the input: check access, run, respond. */
function createInputHandler(
  operation: Operation,
  { services, contextClass: OperationContext, runOnce, consume, checking, tokens }: HandlerDependencies,
  readOnly: ReturnType<typeof findReadOnlyProperties>,
): HandleInput {
  const handle = withDeadline(operation, checking ? superviseHandler(operation) : operation.handle)
  return async (requestContext, principal, input, admission) => {
    const { request } = requestContext
    await limitGuardedAttempts(operation, input, requestContext, consume)
    const otherRequests = (operation.countRequests?.(input) ?? 1) - 1
    if (principal && otherRequests > 0)
      await consume('account', countedUserOf(principal), requestContext.response, otherRequests)
    if (!(await isAccessPermitted(operation.access, principal, input.params, services)))
      throw new ServiceError('NotFound')
    const reachedIds = new Set<string>()
    const caller = toCaller(requestContext, principal, reachedIds, admission)
    const facts = new OperationContext({
      ...requestContext,
      operation,
      params: input.params,
      tokens,
      principal,
      caller,
    })
    const renderedResponse = await runOnce(
      toIdempotentRequest(request, operation, principal, input),
      async (attempt) => {
        try {
          const context = Object.assign(facts, attempt)
          const readOnlyValues = input.readOnly
          if (readOnly && readOnlyValues)
            context.current = await requireUnchanged(readOnly, readOnlyValues, input, context)
          const result = await handle(input, context)
          requirePermissionChecked(operation, input.params, principal, reachedIds)
          return renderResponse(operation, result)
        } catch (error) {
          return requestContext.respondToError(locateInInput(error, input))
        }
      },
    )
    return operation.method === 'get' ? toNotModified(request, renderedResponse) : renderedResponse
  }
}

/** Sets a deadline for queries; writes are always finished. */
const withDeadline = (
  { method, deadlineMs = QUERY_TIMEOUT_MS }: Operation,
  handle: Operation['handle'],
): Operation['handle'] =>
  method === 'get'
    ? (input, context) => runWithDeadline(deadlineMs, async () => handle(input, context))
    : handle

/** @throws NotAcceptable */
function requireAcceptable(request: Request, operation: Operation): void {
  if (
    operation.publicDocument ||
    operation.reply[1] === undefined ||
    negotiateMediaType(request, operation) !== undefined
  )
    return
  const detail = `This operation returns ${mediaTypesOfReply(operation).join(' or ')}.`
  throw new ServiceError('NotAcceptable', { detail })
}

/** @throws Unauthenticated */
async function authenticate(
  { request, response }: RequestContext,
  { access }: Operation,
  { services, tokens }: HandlerDependencies,
): Promise<Principal | undefined> {
  if (access === 'public') return undefined
  // The browser sends the cookie of an ended session until it is removed.
  const dropCookie = () => response.setHeader('set-cookie', sessionCookie(services.pathPrefix, '', 0))
  const principal = await authenticateRequest(request, tokens, access === 'optional' ? dropCookie : undefined)
  if (principal === undefined && access !== 'optional') throw new ServiceError('Unauthenticated')
  return principal
}

function toCaller(
  { requestId }: RequestContext,
  principal: Principal | undefined,
  reachedIds: Set<string>,
  admission: Admission | undefined,
): Caller | undefined {
  if (principal === undefined) return undefined
  const { mvUid: userId, roles, helper, application, app } = principal
  return {
    userId,
    roles,
    application,
    requestId,
    ...(helper && { helper }),
    ...(app && appLimitsOf(app)),
    ...(admission && { admission }),
    onAccess: (ehrId) => reachedIds.add(ehrId),
  }
}

/** The limits of an app. Unless a scope reaches further, everything that it does lies in the compartment of its patient. */
const appLimitsOf = (app: AppPermit) => ({
  app,
  ...(app.patient !== undefined &&
    app.scopes.every(({ level }) => level === 'patient') && { compartment: compartmentOf(app.patient) }),
})

/** @throws TooManyRequests */
async function limitGuardedAttempts(
  operation: Operation,
  input: RequestInput,
  requestContext: RequestContext,
  consume: RateLimiter,
): Promise<void> {
  if (operation.guardedAccount === undefined) return
  const account = operation.guardedAccount(input)
  const { request, response } = requestContext
  const { id, countedAs = id } = operation
  await consume('guardedAddress', `${countedAs} ${ipKey(request.ip ?? '')}`, response)
  if (account !== undefined) await consume('guardedAccount', `${countedAs} ${hashedKey(account)}`, response)
}

function toIdempotentRequest(
  { headers }: Request,
  { id, method }: Operation,
  principal: Principal | undefined,
  { params, query, bytes }: RequestInput,
): IdempotentRequest | undefined {
  const key = method === 'post' ? parseIdempotencyKey(headers['idempotency-key']) : undefined
  if (key === undefined) return undefined
  const content = Buffer.concat([Buffer.from(JSON.stringify([params, query])), bytes])
  const { mvUid = anonymousCallerOf(headers), helper, app } = principal ?? {}
  const account = helper ? `${helper.helperId} for ${mvUid}` : mvUid
  const scope = [id, account, ...(app ? [app.id] : [])].join(' ')
  return { key, scope, content }
}

/** Without a principal, only the credentials of a request tell one caller from another. */
const anonymousCallerOf = ({ authorization, cookie }: Request['headers']): string =>
  `anonymous ${hashSecret(JSON.stringify([authorization, cookie]))}`

function toNotModified(request: Request, renderedResponse: RenderedResponse): RenderedResponse {
  const { etag, vary, 'last-modified': lastModified } = renderedResponse.headers
  const knownEtags = request.headers['if-none-match']
  const since = request.headers['if-modified-since']
  // If-None-Match is more exact: the other one has no smaller unit than a second.
  const isKnown =
    knownEtags === undefined
      ? renderedResponse.status === 200 && Date.parse(lastModified ?? '') <= Date.parse(since ?? '')
      : etag !== undefined && !renderedResponse.hasConstantEtag && isUnchanged(knownEtags, etag)
  if (!isKnown) return renderedResponse
  if (renderedResponse.body instanceof Readable) renderedResponse.body.destroy()
  const headers = { ...(etag && { etag }), ...(lastModified && { 'last-modified': lastModified }) }
  return { status: 304, headers: { ...headers, ...(vary && { vary }) }, body: undefined }
}

import { Readable } from 'node:stream'
import type { Request, Response } from 'express'
import { concealed, counted, type Spend } from '../../records/limits/rate-limits.ts'
import { positionOf } from '../../records/live/log.ts'
import type { Caller } from '../../records/store/documents/caller.ts'
import { inTime, QUERY_MS } from '../../records/store/reading/deadline.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { isUnchanged, parseIfMatch, wantsNew } from '../answer/etag.ts'
import { malformed } from '../answer/invalid-input.ts'
import { Raw } from '../answer/media.ts'
import { idempotencyKey, type Once, type Sameness } from '../limits/idempotency.ts'
import { type Principal, permits, requireReached } from '../operation/access.ts'
import type { Context } from '../operation/context.ts'
import type { Operation } from '../operation/operation.ts'
import type { Services } from '../operation/services.ts'
import { type Rendered, render } from '../response/rendered.ts'
import { supervised } from './checking.ts'
import { type Input, inInput, inputReader } from './input.ts'
import { principalOf, type TokenPolicy } from './token.ts'

/** What every operation is performed with. */
export interface Frame {
  services: Services
  tokens: TokenPolicy
  spend: Spend
  once: Once
  /** Supervise the handlers, see checking.ts: tests and development. */
  checking: boolean
}

/** One request and its answer in the making. */
export interface Exchange {
  request: Request
  response: Response
  requestId: string
  /** Shows what was thrown as a problem document, and logs what nobody foresaw. */
  refuse(thrown: unknown): Rendered
}

export type Perform = (exchange: Exchange, params: Record<string, string>) => Promise<Rendered>

/** An operation made ready to be performed. A request's way: who asks, what for, may they, the work, the answer. */
export function performer(operation: Operation, frame: Frame): Perform {
  const read = inputReader(operation)
  const { services, tokens, once, spend, checking } = frame
  const handle = timely(operation, checking ? supervised(operation) : operation.handle)
  return async (exchange, params) => {
    const { request, response } = exchange
    requireAcceptable(request, operation)
    const principal = await authenticate(request, operation, tokens)
    if (principal) await spend('account', principal.mvUid, response)
    const input = await read(request, response, params)
    await guard(operation, input, exchange, spend)
    if (!(await permits(operation.access, principal, input.params, services)))
      throw new ServiceError('NotFound')
    const reached = new Set<string>()
    const facts = {
      ...services,
      ...factsOf(exchange, operation, input.params),
      principal,
      caller: callerOf(exchange, principal, reached),
    }
    const rendered = await once(samenessOf(request, operation, principal, input), async (attempt) => {
      try {
        const result = await handle(input, { ...facts, ...attempt } as Context)
        requireReached(operation, input.params, principal, reached)
        return render(operation, result)
      } catch (thrown) {
        return exchange.refuse(inInput(thrown, input))
      }
    })
    return operation.method === 'get' ? unlessUnchanged(request, rendered) : rendered
  }
}

/** Queries end in time; writes are finished. */
const timely = (
  { method, deadlineMs = QUERY_MS }: Operation,
  handle: Operation['handle'],
): Operation['handle'] =>
  method === 'get' ? (input, context) => inTime(deadlineMs, async () => handle(input, context)) : handle

/** The media types of an operation's answer. */
const offeredBy = ({ reply: [, body] }: Operation): string[] =>
  body instanceof Raw ? [...body.types] : ['application/json']

/** @throws NotAcceptable */
function requireAcceptable(request: Request, operation: Operation): void {
  const { accept } = request.headers
  if (operation.reply[1] === undefined || accept === undefined || accept.includes('*/*')) return
  const offered = offeredBy(operation)
  if (!request.accepts(offered)) {
    throw new ServiceError('NotAcceptable', { detail: `This operation returns ${offered.join(' or ')}.` })
  }
}

/** @throws Unauthenticated */
async function authenticate(
  request: Request,
  { access }: Operation,
  tokens: TokenPolicy,
): Promise<Principal | undefined> {
  if (access === 'public') return undefined
  const principal = await principalOf(request, tokens)
  if (principal === undefined && access !== 'optional') throw new ServiceError('Unauthenticated')
  return principal
}

function callerOf(
  { requestId }: Exchange,
  principal: Principal | undefined,
  reached: Set<string>,
): Caller | undefined {
  if (principal === undefined) return undefined
  const { mvUid: userId, roles, application } = principal
  return { userId, roles, application, requestId, onAccess: (ehrId) => reached.add(ehrId) }
}

/** @throws TooManyRequests */
async function guard(operation: Operation, input: Input, exchange: Exchange, spend: Spend): Promise<void> {
  if (operation.guarded === undefined) return
  const account = operation.guarded(input)
  const { request, response } = exchange
  await spend('guardedAddress', `${operation.id} ${counted(request.ip ?? '')}`, response)
  if (account !== undefined) await spend('guardedAccount', `${operation.id} ${concealed(account)}`, response)
}

/** @throws PreconditionRequired */
function factsOf(
  { request, response, requestId }: Exchange,
  operation: Operation,
  params: Record<string, string>,
) {
  const expected = parseIfMatch(request.headers['if-match'], Object.values(params))
  if (operation.ifMatch === 'required' && expected === undefined)
    throw new ServiceError('PreconditionRequired')
  const userAgent = request.headers['user-agent']?.slice(0, 200) ?? ''
  const createOnly = operation.creates === true && wantsNew(request.headers['if-none-match'])
  const accepted = request.accepts(offeredBy(operation)) || ''
  const lastEventId = operation.resumes && lastEventOf(request.headers['last-event-id'])
  const isAbandoned = () => response.closed
  const language = request.acceptsLanguages('en', 'nl') === 'nl' ? ('nl' as const) : ('en' as const)
  const client = { address: request.ip ?? '', userAgent, accepted, language }
  return { requestId, ...client, expected, createOnly, lastEventId: lastEventId || undefined, isAbandoned }
}

/** @throws MalformedRequest for what no event has been called */
function lastEventOf(header: unknown): string | undefined {
  if (header === undefined || header === '') return undefined
  if (typeof header === 'string' && positionOf(header)) return header
  throw malformed('header', 'Last-Event-ID', 'event', 'must be the id of an event')
}

function samenessOf(
  { headers }: Request,
  { id, method }: Operation,
  principal: Principal | undefined,
  { params, query, bytes }: Input,
): Sameness | undefined {
  const key = method === 'post' ? idempotencyKey(headers['idempotency-key']) : undefined
  if (key === undefined) return undefined
  const content = Buffer.concat([Buffer.from(JSON.stringify([params, query])), bytes])
  return { key, scope: `${id} ${principal?.mvUid ?? 'anonymous'}`, content }
}

function unlessUnchanged(request: Request, rendered: Rendered): Rendered {
  const { etag } = rendered.headers
  if (etag === undefined || !isUnchanged(request.headers['if-none-match'], etag)) return rendered
  if (rendered.body instanceof Readable) rendered.body.destroy()
  return { status: 304, headers: { etag }, body: undefined }
}

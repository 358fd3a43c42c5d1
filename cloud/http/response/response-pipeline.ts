import express, { type Response } from 'express'
import type { Logger } from 'pino'
import { isOutage, REQUEST_WAIT_TIMEOUT_MS } from '../../../records/store/documents/outage.ts'
import { isDeadlineError } from '../../../records/store/reading/deadlines.ts'
import type { ServiceError } from '../../../schemas/errors.ts'
import { UNAVAILABLE_MESSAGE } from '../../parse-server/adapter/database-errors.ts'
import { parseErrorCode, type Refusal } from '../request/parse-request.ts'
import { isUnavailableBatch, normalizeBatchPart, toErrorBody } from './error-body.ts'

/** Runs before a response is sent. If it fails, the response becomes a 503. */
type BeforeResponse = (body: unknown, status: number) => Promise<unknown>

/** `refused`: it was not carried out, but may be later. `unknown`: it may have been carried out. */
type RequestOutcome = 'final' | 'refused' | 'unknown'

/** Runs before a response is sent, and does not fail. */
type SettleRequest = (outcome: RequestOutcome) => Promise<unknown>

interface ResponseState {
  /**
   * Parse's error handler responds and then passes the error on, and a deadline may come first. The first
   * response counts.
   */
  isSent: boolean
  /** Whether the response waits for the held work. */
  isPending: boolean
  /** Whether the database was lost since the request began: its timeout is not the query's fault then. */
  wasDatabaseLost?: () => boolean
  beforeWork?: BeforeResponse
  settle?: SettleRequest
  etagOf?: (version: number) => string
  convert?: (object: object) => object
  /** One entry for each request of a batch: the refusal of those that were not carried out. */
  refusals?: readonly (Refusal | undefined)[]
}

const RESPONSE_STATES = new WeakMap<Response, ResponseState>()
const responseStateOf = (res: Response): ResponseState =>
  RESPONSE_STATES.get(res) ?? { isSent: res.headersSent, isPending: false }

/**
 * Normalises all errors of Parse to JSON `{code: number, error: text}`, once. Some of its errors lack the
 * code or the JSON, or name the text `message`.
 */
export function normalizeResponse(res: Response, wasDatabaseLost = () => false): void {
  RESPONSE_STATES.set(res, { isSent: false, isPending: false, wasDatabaseLost })
  res.json = sendJson
  res.end = endResponse as typeof res.end
}

/** Whether a response has been sent and cannot change, by whichever code. */
export const isResponded = (res: Response): boolean => responseStateOf(res).isSent || res.headersSent

/** Delays the response until `work`, which gets it, has finished. */
export function runBeforeResponse(res: Response, work: BeforeResponse): void {
  responseStateOf(res).beforeWork = work
}

/** Delays the response until the request is settled. */
export function settleBeforeSending(res: Response, settle: SettleRequest): void {
  responseStateOf(res).settle = settle
}

/** Adds the version of an object as ETag, if the response contains one. */
export function setVersionHeader(res: Response, etagOf: (version: number) => string): void {
  responseStateOf(res).etagOf = etagOf
  res.append('Access-Control-Expose-Headers', 'ETag')
}

/** Keeps the refusals of a batch, which are answered in the places of their requests; Parse has not seen those. */
export function setRefusals(res: Response, refusals: readonly (Refusal | undefined)[]): void {
  responseStateOf(res).refusals = refusals
}

function withRefusedParts(answers: unknown[], refusals: ResponseState['refusals']): unknown[] {
  const carriedOut = answers.values()
  return (
    refusals?.map((refusal) =>
      refusal ? { error: { code: refusal.code, error: refusal.message } } : carriedOut.next().value,
    ) ?? answers
  )
}

/** Converts each object of the response to the form in which the caller may see it. */
export function convertObjects(res: Response, convert: (object: object) => object): void {
  responseStateOf(res).convert = convert
}

function sendJson(this: Response, body: unknown): Response {
  const state = responseStateOf(this)
  if (isResponded(this)) return this
  state.isSent = true
  const { statusCode: status } = this
  if (!state.beforeWork && !state.settle) return sendNormalized(this, status, body)
  state.isPending = true
  void sendAfterWork(this, state, [status, body])
  return this
}

async function sendAfterWork(
  res: Response,
  { beforeWork, settle }: ResponseState,
  [status, body]: [status: number, body: unknown],
): Promise<void> {
  const isReady = await (beforeWork?.(body, status) ?? Promise.resolve()).then(
    () => true,
    () => false,
  )
  await settle?.(outcomeOf(status, body, isReady))
  if (isReady) sendNormalized(res, status, body)
  else sendNormalized(res, 503, {})
}

/** @param isSent false: the client gets a 503 in place of this response */
function outcomeOf(parseStatus: number, body: unknown, isSent: boolean): RequestOutcome {
  if (isUnavailableBatch(body)) return 'refused'
  if (parseStatus < 400) return isSent ? 'final' : 'unknown'
  const { status, error } = toErrorBody(parseStatus, body)
  if (status === 408 || status === 429 || error === UNAVAILABLE_MESSAGE) return 'refused'
  if (status >= 500) return 'unknown'
  return isSent ? 'final' : 'refused'
}

function sendNormalized(res: Response, status: number, body: unknown): Response {
  const state = responseStateOf(res)
  state.isPending = false
  // Parse responds according to `_method` in the body, but the client of a POST waits for a body.
  const { originalMethod } = res.req as { originalMethod?: string }
  if (originalMethod !== undefined && res.req.method === 'HEAD') res.req.method = originalMethod
  const asJson = (value: unknown) => express.response.json.call(res, value)
  res.statusCode = status
  const parts = Array.isArray(body) ? withRefusedParts(body, state.refusals).map(normalizeBatchPart) : []
  // A client can safely retry all of it.
  if (isUnavailableBatch(body)) return sendNormalized(res, 503, {})
  if (status < 400) {
    const etag = state.etagOf && findEtag(body, state.etagOf)
    if (etag !== undefined) res.set('ETag', etag)
    return asJson(convertEachObject(Array.isArray(body) ? parts : body, state.convert))
  }
  const { status: errorStatus, ...fault } = toErrorBody(status, body)
  if (errorStatus === 408 && state.wasDatabaseLost?.()) return sendNormalized(res, 503, {})
  res.statusCode = errorStatus
  res.locals.refusal = `code ${fault.code}`
  if (errorStatus === 503 && !res.hasHeader('Retry-After'))
    res.set('Retry-After', String(REQUEST_WAIT_TIMEOUT_MS / 1000))
  if (errorStatus === 429 && !res.hasHeader('Retry-After'))
    res.set('Retry-After', String(RATE_LIMIT_RETRY_AFTER_S))
  return asJson(fault)
}

/** Converts the object of a response, those of a list, and those of a batch. */
function convertEachObject(body: unknown, convert: ResponseState['convert']): unknown {
  if (!convert || typeof body !== 'object' || body === null) return body
  if (Array.isArray(body)) return body.map((part) => convertEachObject(part, convert))
  const { results, success } = body as { results?: unknown; success?: unknown }
  if (Array.isArray(results)) return { ...body, results: convertEachObject(results, convert) }
  return success === undefined ? convert(body) : { ...body, success: convertEachObject(success, convert) }
}

function findEtag(body: unknown, etagOf: (version: number) => string): string | undefined {
  const { version } = (body ?? {}) as { version?: unknown }
  return typeof version === 'number' ? etagOf(version) : undefined
}

const RATE_LIMIT_RETRY_AFTER_S = 300

/** Some errors of Parse end the response directly, with a text without a type. */
function endResponse(this: Response, ...args: unknown[]): Response {
  const { isSent, isPending } = responseStateOf(this)
  if (isPending) return this
  const bare = !isSent && this.statusCode >= 400 && !this.headersSent && !this.hasHeader('Content-Type')
  if (bare) return this.json(parseChunk(args[0]))
  return (express.response.end as (...args: unknown[]) => Response).apply(this, args)
}

/**
 * Responds to database outages and timeouts.
 * @returns whether it responded
 */
export function respondToDatabaseError(error: unknown, res: Response): boolean {
  const outage = isOutage(error)
  const overdue = isDeadlineError(error)
  const { retryAfter } = (error ?? {}) as { retryAfter?: unknown }
  if (outage && typeof retryAfter === 'number') res.set('Retry-After', String(retryAfter))
  if (outage) res.status(503).json({})
  else if (overdue) res.status(408).json({ code: parseErrorCode.timeout })
  return outage || overdue
}

/** Responds to a request that the service does not carry out. */
export function respondToRefusal({ status, retryAfter = 1 }: ServiceError, res: Response): void {
  normalizeResponse(res)
  res.set({ 'Cache-Control': 'no-store', 'Retry-After': String(retryAfter) })
  res.status(status).json({})
}

/** Responds to requests that Parse passes on: unknown routes and errors. */
export function respondToUnhandled(error: unknown, res: Response, log: Logger): void {
  if (responseStateOf(res).isSent) return
  if (error === undefined) {
    res.status(404).json({ code: parseErrorCode.notFound, error: 'This endpoint does not exist.' })
    return
  }
  const { status, retryAfter } = error as { status?: unknown; retryAfter?: number }
  const isClientError = typeof status === 'number' && status >= 400 && status < 500
  if (!isClientError) log.error({ err: error }, 'A request failed')
  if (retryAfter !== undefined) res.set('Retry-After', String(retryAfter))
  res.status(isClientError ? status : 500).json({})
}

function parseChunk(chunk: unknown): unknown {
  try {
    return JSON.parse(String(chunk))
  } catch {
    return {}
  }
}

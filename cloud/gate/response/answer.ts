import express, { type Response } from 'express'
import type { Logger } from 'pino'
import { isOutage, PATIENCE_MS } from '../../../records/store/documents/outage.ts'
import { isOverdue } from '../../../records/store/reading/deadline.ts'
import { UNAVAILABLE } from '../../parse-server/adapter/query-refusals.ts'
import { code } from '../request/parse-request.ts'

interface Fault {
  status: number
  code: number
  error: string
}

/** Done with an answer before it leaves; when it fails, the service is unavailable. */
type BeforeAnswer = (body: unknown, status: number) => Promise<unknown>

interface State {
  /** Parse's error handler answers, and then hands the error on; a deadline may come first: one answer counts. */
  given: boolean
  /** Given, and waiting for `before`. */
  held: boolean
  before?: BeforeAnswer
}

const states = new WeakMap<Response, State>()
const stateOf = (res: Response): State => states.get(res) ?? { given: res.headersSent, held: false }

/**
 * Makes Parse speak one language, once: whatever it answers from 400 on leaves as `{code: number, error: text}` in
 * JSON. Some of its refusals lack the code, some the JSON, some name the text `message`.
 */
export function speakErrors(res: Response): void {
  states.set(res, { given: false, held: false })
  res.json = json
  res.end = end as typeof res.end
}

/** Whether there is an answer already, of which nothing more can be changed; not each was given here. */
export const isAnswered = (res: Response): boolean => stateOf(res).given || res.headersSent

/** Has the answer wait for `work`, which sees it. */
export function beforeAnswer(res: Response, work: BeforeAnswer): void {
  stateOf(res).before = work
}

function json(this: Response, body: unknown): Response {
  const state = stateOf(this)
  if (isAnswered(this)) return this
  state.given = true
  const { statusCode: status } = this
  if (!state.before) return send(this, status, body)
  state.held = true
  state.before(body, status).then(
    () => send(this, status, body),
    () => send(this, 503, {}),
  )
  return this
}

function send(res: Response, status: number, body: unknown): Response {
  stateOf(res).held = false
  // Parse answers as the body's `_method` says; the client of a POST waits for a body.
  const { originalMethod } = res.req as { originalMethod?: string }
  if (originalMethod !== undefined && res.req.method === 'HEAD') res.req.method = originalMethod
  const asJson = (sent: unknown) => express.response.json.call(res, sent)
  res.statusCode = status
  const parts = Array.isArray(body) ? body.map(batchedAnswer) : []
  // A client that repeats the whole does nothing twice.
  if (parts.length > 0 && parts.every(isUnavailable)) return send(res, 503, {})
  if (status < 400) return asJson(Array.isArray(body) ? parts : body)
  const { status: told, ...fault } = describe(status, body)
  res.statusCode = told
  res.locals.refusal = `code ${fault.code}`
  if (told === 503) res.set('Retry-After', String(PATIENCE_MS / 1000))
  if (told === 429 && !res.hasHeader('Retry-After')) res.set('Retry-After', String(retryAfterSeconds))
  return asJson(fault)
}

const retryAfterSeconds = 300

/** Some refusals end the answer themselves: a text that has no type. */
function end(this: Response, ...args: unknown[]): Response {
  const { given, held } = stateOf(this)
  if (held) return this
  const bare = !given && this.statusCode >= 400 && !this.headersSent && !this.hasHeader('Content-Type')
  if (bare) return this.json(parse(args[0]))
  return (express.response.end as (...args: unknown[]) => Response).apply(this, args)
}

/** The database is away, or did not answer in time. @returns whether that was it */
export function answerTrouble(error: unknown, res: Response): boolean {
  const [outage, overdue] = [isOutage(error), isOverdue(error)]
  if (outage) res.status(503).json({})
  else if (overdue) res.status(408).json({ code: code.timeout })
  return outage || overdue
}

/** What Parse passes on: a path without a route, or an error. */
export function answerUnhandled(error: unknown, res: Response, log: Logger): void {
  if (stateOf(res).given) return
  if (error === undefined) {
    res.status(404).json({ code: code.notFound, error: 'No such route' })
    return
  }
  const { status, retryAfter } = error as { status?: unknown; retryAfter?: number }
  const refused = typeof status === 'number' && status >= 400 && status < 500
  if (!refused) log.error({ err: error }, 'A request failed')
  if (retryAfter !== undefined) res.set('Retry-After', String(retryAfter))
  res.status(refused ? status : 500).json({})
}

function describe(status: number, body: unknown): Fault {
  const {
    code: given,
    error,
    message,
  } = (body ?? {}) as { code?: unknown; error?: unknown; message?: unknown }
  const text = [error, message].find((part) => typeof part === 'string' && part !== '') as string | undefined
  // 100, "connection failed", is what Parse says when its rate limit is exceeded.
  if (status === 429 || given === 100)
    return { status: 429, code: code.tooManyRequests, error: text ?? 'Too many requests' }
  // What Parse says of a request without one of its keys.
  if (status === 403 && text === 'unauthorized') return { status, code: code.forbidden, error: UNAUTHORIZED }
  if (given === code.invalidSession)
    return { status: 401, code: given, error: text ?? 'Invalid session token' }
  if (given === code.timeout) return { status: 408, code: given, error: 'The query took too long' }
  if (status === 503 || (given === code.internal && text === UNAVAILABLE))
    return { status: 503, code: code.internal, error: UNAVAILABLE }
  if (status >= 500) return { status, code: code.internal, error: 'Internal server error' }
  const known = typeof given === 'number' ? given : (codeOfStatus[status] ?? code.invalidJson)
  return { status, code: known, error: text ?? 'The request is malformed' }
}

const UNAUTHORIZED =
  'unauthorized: send X-Parse-Application-Id, and with its key one of X-Parse-REST-API-Key, X-Parse-JavaScript-Key, X-Parse-Client-Key (Android, Apple, Flutter) and X-Parse-Windows-Key (.NET)'

const codeOfStatus: Record<number, number> = {
  401: code.invalidSession,
  403: code.forbidden,
  404: code.notFound,
}

/** One part of a batch's answer; an error in it that is not Parse's own has no code. */
function batchedAnswer(part: unknown): unknown {
  const { error } = (part ?? {}) as { error?: { code?: unknown } }
  if (typeof error !== 'object' || error === null || typeof error.code === 'number') return part
  return { error: { code: code.internal, error: 'Internal server error' } }
}

/** Whether a part of a batch was not done since the database is away. */
const isUnavailable = (part: unknown): boolean =>
  describe(500, (part as { error?: unknown } | null)?.error).status === 503

function parse(chunk: unknown): unknown {
  try {
    return JSON.parse(String(chunk))
  } catch {
    return {}
  }
}

import express, { type Response } from 'express'
import type { Logger } from 'pino'
import { code } from './request/parse-request.ts'

interface Fault {
  status: number
  code: number
  error: string
}

const retryAfterSeconds = 300

/**
 * Makes Parse speak one language: whatever it answers from 400 on leaves as `{code: number, error: text}` in JSON.
 * Some of its refusals lack the code, some the JSON, some name the text `message`.
 */
export function speakErrors(res: Response): void {
  res.json = json
  res.end = end as typeof res.end
}

function json(this: Response, body: unknown): Response {
  const send = express.response.json
  if (this.statusCode < 400) return send.call(this, Array.isArray(body) ? body.map(batchedAnswer) : body)
  const { status, ...fault } = describe(this.statusCode, body)
  if (status === 429 && !this.hasHeader('Retry-After')) this.set('Retry-After', String(retryAfterSeconds))
  return send.call(this.status(status), fault)
}

/** Some refusals end the answer themselves: a text that has no type. */
function end(this: Response, ...args: unknown[]): Response {
  const finish = express.response.end as (...args: unknown[]) => Response
  const bare = this.statusCode >= 400 && !this.headersSent && !this.hasHeader('Content-Type')
  return bare ? this.json(parse(args[0])) : finish.apply(this, args)
}

/**
 * What Parse passes on: a path without a route, or an error. One that comes after the answer must not cost the
 * connection, which Express would close.
 */
export function answerUnhandled(error: unknown, res: Response, log: Logger): void {
  if (res.headersSent) return
  if (error === undefined) {
    res.status(404).json({ code: code.notFound, error: 'No such route' })
    return
  }
  const status = (error as { status?: unknown }).status
  const refused = typeof status === 'number' && status >= 400 && status < 500
  if (!refused) log.error({ err: error }, 'A request failed')
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
  if (given === code.invalidSession)
    return { status: 401, code: given, error: text ?? 'Invalid session token' }
  if (status >= 500) return { status, code: code.internal, error: 'Internal server error' }
  const known = typeof given === 'number' ? given : (codeOfStatus[status] ?? code.invalidJson)
  return { status, code: known, error: text ?? 'The request is malformed' }
}

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

function parse(chunk: unknown): unknown {
  try {
    return JSON.parse(String(chunk))
  } catch {
    return {}
  }
}

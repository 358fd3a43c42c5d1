import type { ErrorRequestHandler, RequestHandler } from 'express'
import type { Log } from '../log.ts'
import { code } from './parse-request.ts'

interface Fault {
  status: number
  code: number
  error: string
}

const retryAfterSeconds = 300

/**
 * Stands before Parse: whatever it answers from 400 on leaves as `{code: number, error: text}` in JSON.
 * Some of its refusals lack the code, some the JSON, some name the text `message`.
 */
export const speakErrors: RequestHandler = (_req, res, next) => {
  const json = res.json.bind(res)
  const end = res.end.bind(res) as (...args: unknown[]) => typeof res
  res.json = (body: unknown) => {
    if (res.statusCode < 400) return json(Array.isArray(body) ? body.map(batchedAnswer) : body)
    const { status, ...fault } = describe(res.statusCode, body)
    if (status === 429 && !res.hasHeader('Retry-After')) res.set('Retry-After', String(retryAfterSeconds))
    res.status(status)
    return json(fault)
  }
  res.end = ((...args: unknown[]) => {
    const bare = res.statusCode >= 400 && !res.headersSent && !res.hasHeader('Content-Type')
    if (!bare) return end(...args)
    res.end = end as typeof res.end
    return res.json(parse(args[0]))
  }) as typeof res.end
  next()
}

/** Stands behind Parse: no route of its own, or an error after the answer, which must not cost the connection. */
export const noSuchRoute: RequestHandler = (_req, res) => {
  res.status(404).json({ code: code.notFound, error: 'No such route' })
}

export function handleErrors(log: Log): ErrorRequestHandler {
  return (err: unknown, _req, res, _next) => {
    if (res.headersSent) return
    const status = (err as { status?: unknown }).status
    if (typeof status === 'number' && status >= 400 && status < 500) {
      res.status(status).json({})
      return
    }
    log.error({ err }, 'A request failed')
    res.status(500).json({})
  }
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
  const known =
    typeof given === 'number'
      ? given
      : (codeOfStatus[status] ?? (status < 500 ? code.invalidJson : code.internal))
  return {
    status,
    code: known,
    error: status >= 500 ? 'Internal server error' : (text ?? 'The request is malformed'),
  }
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

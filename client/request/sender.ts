import {
  createMemoryStore,
  createSession,
  type Session,
  type TokenStore,
  type Tokens,
} from './client-session.ts'
import { isProblem, Problem } from './problem.ts'
import { type RetryOptions, type SentRequest, sendWithRetry } from './retry.ts'

export interface SenderOptions {
  /** Address of the service, such as `https://records.example.org`; in a browser by default that of the page. */
  url?: string
  /** Where the tokens are kept; default: in memory. */
  tokens?: TokenStore
  /** The service keeps the refresh token in a cookie; for pages of the same site. */
  refreshByCookie?: boolean | undefined
  retry?: RetryOptions
  /** The maximal time of a call with all attempts; default 60,000. */
  timeoutMs?: number
  fetch?: (input: string, init: RequestInit) => Promise<Response>
}

export interface Sender {
  session: Session
  /** @throws Problem, or the reason of the request's signal */
  send(request: Request): Promise<Response>
}

const REFRESH_PATH = '/auth/login/token'

/** Aborts the work after the time, or with the signal. A stream that it returns may last longer. */
async function withDeadline<T>(
  outer: AbortSignal,
  timeoutMs: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController()
  const timeout = new Problem({ status: 0, code: 'timeout', title: `No answer within ${timeoutMs} ms` })
  const timer = setTimeout(() => late.abort(timeout), timeoutMs)
  try {
    return await work(AbortSignal.any([outer, late.signal]))
  } finally {
    clearTimeout(timer)
  }
}

/** The request with its body in memory. Each POST has a key, so that a repeated one is carried out once. */
async function prepare(request: Request, signal: AbortSignal): Promise<SentRequest> {
  const { url, method, credentials } = request
  const headers = new Headers(request.headers)
  if (method === 'POST' && !headers.has('idempotency-key'))
    headers.set('idempotency-key', crypto.randomUUID())
  const body = ['GET', 'HEAD'].includes(method) ? undefined : await request.arrayBuffer()
  return { url, method, headers, body: body?.byteLength ? body : undefined, signal, credentials }
}

/** What is given to openapi-fetch as `fetch`: there, unlike in its middleware, a request can be sent again. */
export function createSender(baseUrl: string, options: SenderOptions): Sender {
  const { fetch = (input, init) => globalThis.fetch(input, init), retry, timeoutMs = 60_000 } = options
  const { tokens = createMemoryStore(), refreshByCookie = false } = options
  const sendPlain = (request: SentRequest) => sendWithRetry(request, { ...retry, fetch })

  async function exchange(refreshToken: string | undefined): Promise<Tokens> {
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ refreshToken })
    const request = new Request(baseUrl + REFRESH_PATH, { method: 'POST', headers, body })
    const response = await withDeadline(request.signal, timeoutMs, async (signal) =>
      sendPlain(await prepare(request, signal)),
    )
    return response.json()
  }
  const session = createSession(tokens, exchange, refreshByCookie)

  async function sendAsUser(request: SentRequest): Promise<Response> {
    if (request.headers.has('authorization') || request.url.includes('/auth/login/'))
      return sendPlain(request)
    const authorize = (token: string | undefined) => {
      if (token !== undefined) request.headers.set('authorization', `Bearer ${token}`)
      return sendPlain(request)
    }
    const token = await session.authToken()
    try {
      return await authorize(token)
    } catch (problem) {
      if (!isProblem(problem) || problem.status !== 401 || !(await session.renew(token))) throw problem
      return authorize(await session.authToken())
    }
  }

  return {
    session,
    send: (request) =>
      withDeadline(request.signal, timeoutMs, async (signal) => sendAsUser(await prepare(request, signal))),
  }
}

import {
  type Authorization,
  createMemoryStore,
  createSession,
  type Session,
  type TokenStore,
  type Tokens,
} from './client-session.ts'
import { withDeadline } from './deadline.ts'
import { createIdempotencyKey } from './idempotency-key.ts'
import { isProblem } from './problem.ts'
import { type RetryOptions, type SentRequest, sendWithRetry } from './retry.ts'

export interface SenderOptions {
  /** URL of the service, such as `https://records.example.org`; in a browser by default that of the page. */
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
  /**
   * @param signal that of the caller, which a Request does not keep
   * @throws Problem, or the reason of the signal
   */
  send(request: Request, signal: AbortSignal | undefined): Promise<Response>
}

const REFRESH_PATH = '/auth/login/token'

/** The request with its body in memory. Each POST has a key, so that a repeated one is carried out once. */
async function prepare(request: Request, signal: AbortSignal): Promise<SentRequest> {
  const { url, method, credentials } = request
  const headers = new Headers(request.headers)
  if (method === 'POST' && !headers.has('idempotency-key'))
    headers.set('idempotency-key', createIdempotencyKey())
  const body = ['GET', 'HEAD'].includes(method) ? undefined : await request.arrayBuffer()
  return { url, method, headers, body: body?.byteLength ? body : undefined, signal, credentials }
}

/** What is given to openapi-fetch as `fetch`: there, unlike in its middleware, a request can be sent again. */
export function createSender(baseUrl: string, options: SenderOptions): Sender {
  const { fetch = (input, init) => globalThis.fetch(input, init), retry, timeoutMs = 60_000 } = options
  const { tokens = createMemoryStore(), refreshByCookie = false } = options
  const sendPlain = (request: SentRequest) => sendWithRetry(request, { ...retry, fetch })
  /** A page of the same site may have another origin than the service. */
  const credentials = refreshByCookie ? { credentials: 'include' as const } : {}

  const sendInTime = (request: Request, signal: AbortSignal | undefined, send: typeof sendPlain) =>
    withDeadline(signal, timeoutMs, async (ending) =>
      send({ ...(await prepare(request, ending)), ...credentials }),
    )

  async function exchange(
    refreshToken: string | undefined,
    key: string,
    signal: AbortSignal,
  ): Promise<Tokens> {
    const headers = { 'content-type': 'application/json', 'idempotency-key': key }
    const body = JSON.stringify({ refreshToken })
    const request = new Request(baseUrl + REFRESH_PATH, { method: 'POST', headers, body })
    return (await sendInTime(request, signal, sendPlain)).json()
  }
  const session = createSession(tokens, exchange, refreshByCookie)

  async function sendAsUser(request: SentRequest): Promise<Response> {
    if (request.headers.has('authorization') || request.url.includes('/auth/login/'))
      return sendPlain(request)
    const authorize = ({ authToken }: Authorization) => {
      if (authToken !== undefined) request.headers.set('authorization', `Bearer ${authToken}`)
      return sendPlain(request)
    }
    const authorization = await session.authorization()
    try {
      return await authorize(authorization)
    } catch (problem) {
      const isRefused = isProblem(problem) && problem.status === 401
      const renewed = isRefused ? await session.renew(authorization) : undefined
      if (!renewed) throw problem
      return authorize(renewed)
    }
  }

  return { session, send: (request, signal) => sendInTime(request, signal, sendAsUser) }
}

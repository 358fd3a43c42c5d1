import { createNetworkProblem, Problem, readProblem } from './problem.ts'

export interface RetryOptions {
  /** The maximal number of attempts; default 3. */
  attempts?: number
  /** A longer wait is left to the caller; default 30,000. */
  maxWaitMs?: number
  /** Called before each wait. */
  onWait?: (problem: Problem, waitMs: number) => void
}

export interface SendOptions extends RetryOptions {
  fetch: (input: string, init: RequestInit) => Promise<Response>
}

/** A request that can be sent again: its body is in memory. */
export interface SentRequest {
  url: string
  method: string
  headers: Headers
  body: ArrayBuffer | undefined
  signal: AbortSignal
  credentials: NonNullable<RequestInit['credentials']>
}

const EMPTY_STATUSES = [204, 205, 304]
/** An intermediary gave up: the service may have carried out the request. */
const LOST_STATUSES = [408, 502, 504]
/** The service did not carry out the request. */
const REFUSED_STATUSES = [429, 503]

/** Whether carrying out the request twice is the same as once. */
const isRepeatable = ({ method, headers }: SentRequest): boolean =>
  method === 'GET' ||
  (method === 'POST'
    ? headers.has('idempotency-key')
    : headers.has('if-match') || headers.has('if-none-match'))

/** Whether the service may have carried out the request. */
export const isLost = ({ status, code }: Problem): boolean =>
  code === 'network-error' || LOST_STATUSES.includes(status)

/** An earlier attempt still runs. */
const isRunning = ({ code }: Problem): boolean => code === 'idempotency-key-in-use'

const mayRetry = (problem: Problem, request: SentRequest): boolean =>
  REFUSED_STATUSES.includes(problem.status) ||
  isRunning(problem) ||
  (isLost(problem) && isRepeatable(request))

/** The service refuses to carry out a conditional request twice; a POST with a key gets its first response. */
const mayHaveSucceeded = ({ status }: Problem, { method }: SentRequest): boolean =>
  (method === 'PUT' || method === 'DELETE') && [404, 410, 412].includes(status)

/** Half a second, doubled each time, and a random part so that not all clients come back together. */
const backoffMs = (attempt: number): number =>
  Math.min(500 * 2 ** (attempt - 1), 20_000) * (0.5 + Math.random())

/** Retry-After of a key in use is the longest that the first request may take. */
const delayMs = (problem: Problem, attempt: number): number =>
  Math.max(backoffMs(attempt), isRunning(problem) ? 0 : (problem.retryAfter ?? 0) * 1000)

/** Resolves after the time. @throws the reason of the signal, when it aborts */
export const sleep = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    }, ms)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })

/** Reads the whole body, so that a response that is cut off counts as a network fault. */
async function receive(response: Response): Promise<Response> {
  if (EMPTY_STATUSES.includes(response.status)) return response
  const { status, statusText, headers } = response
  return new Response(await response.arrayBuffer(), { status, statusText, headers })
}

async function sendOnce({ url, ...init }: SentRequest, { fetch }: SendOptions): Promise<Response | Problem> {
  const isForStream = init.headers.get('accept') === 'text/event-stream'
  try {
    const response = await fetch(url, init as RequestInit)
    if (!response.ok && response.status !== 304) return await readProblem(response)
    return isForStream ? response : await receive(response)
  } catch (cause) {
    if (init.signal.aborted) throw init.signal.reason
    return createNetworkProblem(cause)
  }
}

/**
 * Sends a request, and again when the service asks for it or the network fails.
 * @throws Problem, or the reason of the signal
 */
export async function sendWithRetry(request: SentRequest, options: SendOptions): Promise<Response> {
  const { attempts = 3, maxWaitMs = 30_000, onWait } = options
  let lost: Problem | undefined
  for (let attempt = 1; ; attempt++) {
    const outcome = await sendOnce(request, options)
    if (!(outcome instanceof Problem)) return outcome
    if (lost && mayHaveSucceeded(outcome, request)) throw lost
    if (isLost(outcome)) lost = outcome
    const waitMs = delayMs(outcome, attempt)
    // Asking again for the response of a running call does not count as an attempt; the deadline of the call ends it.
    const isOver = attempt >= attempts && (attempts === 1 || !isRunning(outcome))
    if (isOver || waitMs > maxWaitMs || !mayRetry(outcome, request)) throw outcome
    onWait?.(outcome, waitMs)
    await sleep(waitMs, request.signal)
  }
}

import { setTimeout as sleep } from 'node:timers/promises'

export interface ImportLogin {
  url: string
  /** Why the service is looked for there, as the end of a sentence. */
  urlSource: string
  email: string
  password: string
}

interface ServiceResponse {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: whatever the service answered
  body: any
  /** True for a replayed response of an earlier request with the same Idempotency-Key. */
  replayed: boolean
}

/** Calls the path family as the logged-in user. */
export type CallService = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<ServiceResponse>

const MAX_ATTEMPTS = 8
/** Equals the window of the login limit. */
const MAX_WAIT_S = 300

/**
 * Logs in, and again when the token has expired. Waits during outages and when the service asks for it.
 * @param tell called for each wait, which may take minutes
 * @throws Error
 */
export async function connectToService(
  { url, urlSource, email, password }: ImportLogin,
  tell: (waiting: string) => void,
): Promise<CallService> {
  const patiently = async (ask: () => Promise<TimedResponse>) => {
    const answer = await retryUntilAnswered(ask, { url, urlSource }, tell)
    if (answer.status < 300 && answer.body === undefined)
      throw new Error(`The server at ${url} is not a Health Record Service. Another address: --url`)
    return answer
  }
  const logIn = async (): Promise<string> => {
    const { status, body } = await patiently(() =>
      sendRequest(url, 'POST', '/auth/login/password', { email, password }, {}),
    )
    if (status !== 200) throw new Error(`The login failed: ${body?.title ?? status}.`)
    return body.authToken
  }
  let token = await logIn()
  return async (method, path, body, headers) => {
    const ask = () =>
      patiently(() => sendRequest(url, method, path, body, { authorization: `Bearer ${token}`, ...headers }))
    const answer = await ask()
    if (answer.status !== 401) return answer
    token = await logIn()
    return ask()
  }
}

/** The code of a failed connection, such as ECONNREFUSED. */
function describeNetworkError({ cause, message }: Error): string {
  const { code } = (cause ?? {}) as NodeJS.ErrnoException
  return code ?? (cause as Error | undefined)?.message ?? message
}

type TimedResponse = ServiceResponse & { waitS: number }

async function sendRequest(
  url: string,
  method: string,
  path: string,
  body: unknown,
  headers: Record<string, string>,
): Promise<TimedResponse> {
  const response = await fetch(url + path, {
    method,
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  const json = /[/+]json/.test(response.headers.get('content-type') ?? '')
  const waitS = Number(response.headers.get('retry-after')) || 1
  const replayed = response.headers.has('idempotency-replayed')
  return { status: response.status, body: json ? JSON.parse(text) : undefined, replayed, waitS }
}

function retryDelayOf(answer: TimedResponse | Error, tries: number): number {
  if (answer instanceof Error) return 2 ** tries / 4
  // Retry-After is the maximum duration of the first request, so the first retries wait for less.
  if (isKeyInUse(answer)) return Math.min(answer.waitS, 2 ** tries / 3)
  return Math.max(answer.waitS, 2 ** tries / 8)
}

const isKeyInUse = ({ body }: ServiceResponse): boolean => body?.code === 'idempotency-key-in-use'

/** True if a retry may get another response soon. */
const isTransient = (answer: ServiceResponse): boolean =>
  [408, 429].includes(answer.status) || answer.status >= 500 || isKeyInUse(answer)

/** Retries until the service responds. */
async function retryUntilAnswered(
  ask: () => Promise<TimedResponse>,
  { url, urlSource }: Pick<ImportLogin, 'url' | 'urlSource'>,
  tell: (waiting: string) => void,
): Promise<ServiceResponse> {
  const place = `${url} (from ${urlSource})`
  for (let tries = 1; ; tries++) {
    const answer = await ask().catch((error: Error) => error)
    if (!(answer instanceof Error || isTransient(answer))) return answer
    const fault =
      answer instanceof Error
        ? `${place} cannot be reached (${describeNetworkError(answer)})`
        : `${place} responds with the status ${answer.status}`
    const hint = answer instanceof Error ? ' Another address: --url' : ''
    if (tries === MAX_ATTEMPTS) throw new Error(`${fault}, in ${MAX_ATTEMPTS} attempts.${hint}`)
    const seconds = Math.min(retryDelayOf(answer, tries), MAX_WAIT_S)
    tell(`${fault}; next attempt in ${Math.ceil(seconds)} s.${hint}`)
    await sleep(seconds * 1000)
  }
}

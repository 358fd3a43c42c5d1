import { setTimeout as sleep } from 'node:timers/promises'

export interface Login {
  url: string
  email: string
  password: string
}

interface Answer {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: whatever the service answered
  body: any
  /** Whether this is what an earlier request with the same Idempotency-Key was answered. */
  replayed: boolean
}

/** Calls the path family as somebody. */
export type Call = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<Answer>

const MOST_TRIES = 8
/** As long as the service counts logins. */
const LONGEST_WAIT_S = 300

/**
 * Logs in, and again when the token has expired; waits when the service is away or asks for it.
 * @param tell is told of each wait, which may be of minutes
 * @throws Error
 */
export async function connect(
  { url, email, password }: Login,
  tell: (waiting: string) => void,
): Promise<Call> {
  const patiently = async (ask: () => Promise<Sent>) => {
    const answer = await untilAnswered(ask, tell)
    if (answer.status < 300 && answer.body === undefined)
      throw new Error(`What answers at ${url} is not the service.`)
    return answer
  }
  const logIn = async (): Promise<string> => {
    const { status, body } = await patiently(() =>
      send(url, 'POST', '/auth/login/password', { email, password }, {}),
    )
    if (status !== 200) throw new Error(`The login was refused: ${body?.title ?? status}.`)
    return body.authToken
  }
  let token = await logIn()
  return async (method, path, body, headers) => {
    const ask = () =>
      patiently(() => send(url, method, path, body, { authorization: `Bearer ${token}`, ...headers }))
    const answer = await ask()
    if (answer.status !== 401) return answer
    token = await logIn()
    return ask()
  }
}

type Sent = Answer & { waitS: number }

async function send(
  url: string,
  method: string,
  path: string,
  body: unknown,
  headers: Record<string, string>,
): Promise<Sent> {
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

function waitFor(answer: Sent | Error, tries: number): number {
  if (answer instanceof Error) return 2 ** tries / 4
  // What the service asks for is the longest that it can take; all tries together take longer.
  if (isInUse(answer)) return Math.min(answer.waitS, 2 ** tries / 3)
  return Math.max(answer.waitS, 2 ** tries / 8)
}

const isInUse = ({ body }: Answer): boolean => body?.code === 'idempotency-key-in-use'

/** Whether the same request may be answered otherwise a moment later. */
const isPassing = (answer: Answer): boolean =>
  [408, 429].includes(answer.status) || answer.status >= 500 || isInUse(answer)

/** Tries again what the service could not answer. */
async function untilAnswered(ask: () => Promise<Sent>, tell: (waiting: string) => void): Promise<Answer> {
  for (let tries = 1; ; tries++) {
    const answer = await ask().catch((error: Error) => error)
    if (!(answer instanceof Error || isPassing(answer))) return answer
    if (tries === MOST_TRIES) {
      if (answer instanceof Error) throw new Error('The service cannot be reached.')
      throw new Error(`The service keeps answering ${answer.status}.`)
    }
    const seconds = Math.min(waitFor(answer, tries), LONGEST_WAIT_S)
    const why = answer instanceof Error ? 'cannot be reached' : `answers ${answer.status}`
    tell(`The service ${why}: trying again in ${Math.ceil(seconds)} s.`)
    await sleep(seconds * 1000)
  }
}

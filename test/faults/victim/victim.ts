import { randomUUID as newSecret } from 'node:crypto'
import { freePort } from '../../harness/service/port.ts'
import { newDataDir, startProcess } from '../../harness/service/process.ts'

/** How far a request got: what it was about to do, in this order; see stops.ts. */
export interface Progress {
  moments: string[]
  stopped: boolean
  /** The status; 0: not yet. */
  answered: number
}

/** One request, before it is known where the service listens. */
export interface Call {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  path: string
  /** A text is sent as it is, anything else as JSON. */
  body?: unknown
  headers?: Record<string, string>
}

export interface Answer {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever was answered
  body: any
}

/** A service that is there to be killed. */
export interface Victim {
  /** The keys that requests of the class family carry. */
  keys: Record<string, string>
  send(call: Call): Promise<Answer>
  /** Sends a request that goes no further than a moment. @returns how far it got when it rests, and its answer, if any */
  stop(name: string, before: number, call: Call): Promise<Progress & { answer: Promise<Answer | undefined> }>
  progress(name: string): Promise<Progress>
  kill(): Promise<void>
}

/** Starts such services, on one database and with the same keys. */
export async function victims(
  mongodbUri: string,
  auditKey: string,
  onStart: (victim: Pick<Victim, 'kill'>) => void,
): Promise<() => Promise<Victim>> {
  const keys = { APPLICATION_ID: newSecret(), REST_API_KEY: newSecret() }
  const env = {
    ...keys,
    ...{ JAVASCRIPT_KEY: newSecret(), CLIENT_KEY: newSecret(), DOTNET_KEY: newSecret() },
    ...{ MASTER_KEY: newSecret(), KEY_ENCRYPTION_KEY: newSecret() },
    ...{ MONGODB_URI: mongodbUri, AUDIT_KEY: auditKey, DATA_DIR: newDataDir() },
    // What an operator runs; it does without the supervision of handlers, and so starts faster.
    NODE_ENV: 'production',
    LOG_LEVEL: 'error',
    // Tokens name it: it must be the same for all.
    PUBLIC_URL: 'http://service.example.org',
    // Nobody listens there: mails stay where they wait.
    SMTP_URL: `smtp://127.0.0.1:${await freePort()}`,
    ...{ ADDRESS_RATE: '1000000', ACCOUNT_RATE: '1000000', LOGIN_ATTEMPTS: '1000000' },
    NODE_OPTIONS: `--import ${new URL('./stops.js', import.meta.url)}`,
  }
  return async () => {
    const service = await startProcess(env)
    const kill = async () => {
      service.child.kill('SIGKILL')
      await service.ended
    }
    onStart({ kill })
    await service.ready
    const send = (call: Call) => sendTo(service.url, call)
    const progress = async (name: string): Promise<Progress> =>
      (await send({ method: 'GET', path: `/stops/${name}` })).body
    return {
      keys: { 'x-parse-application-id': keys.APPLICATION_ID, 'x-parse-rest-api-key': keys.REST_API_KEY },
      send,
      async stop(name, before, { headers, ...call }) {
        const marks = { 'x-request-id': name, 'x-stop-before': String(before) }
        const answer = send({ ...call, headers: { ...headers, ...marks } }).catch(() => undefined)
        return { ...(await progress(name)), answer }
      },
      progress,
      kill,
    }
  }
}

async function sendTo(url: string, { method, path, body, headers }: Call): Promise<Answer> {
  const answer = await fetch(url + path, {
    method,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await answer.text()
  return { status: answer.status, body: text === '' ? undefined : JSON.parse(text) }
}

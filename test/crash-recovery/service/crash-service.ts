import { randomUUID as newSecret } from 'node:crypto'
import { freePort } from '../../harness/service/port.ts'
import { createDataDir, startProcess } from '../../harness/service/service-process.ts'

/** The crash points that a request has reached, in order; see stops.ts. */
export interface RequestProgress {
  moments: string[]
  stopped: boolean
  /** The status; 0: no answer yet. */
  answered: number
}

/** A request without the URL of the service. */
export interface ServiceCall {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  path: string
  /** A string is sent unchanged, other values as JSON. */
  body?: unknown
  headers?: Record<string, string>
}

export interface ServiceAnswer {
  status: number
  etag: string
  // biome-ignore lint/suspicious/noExplicitAny: tests read any response
  body: any
}

/** A service that a test kills. */
export interface CrashService {
  /** The keys in the headers of the class family. */
  keys: Record<string, string>
  send(call: ServiceCall): Promise<ServiceAnswer>
  /**
   * Sends a request that stops before a crash point.
   * @returns its progress when it rests, and its answer, if any
   */
  stop(
    name: string,
    before: number,
    call: ServiceCall,
  ): Promise<RequestProgress & { answer: Promise<ServiceAnswer | undefined> }>
  progress(name: string): Promise<RequestProgress>
  kill(): Promise<void>
}

/** Starts such services, on one database and with the same keys. */
export async function createServiceStarter(
  mongodbUri: string,
  auditKey: string,
  onStart: (victim: Pick<CrashService, 'kill'>) => void,
  more: NodeJS.ProcessEnv = {},
): Promise<() => Promise<CrashService>> {
  const keys = { APPLICATION_ID: newSecret(), REST_API_KEY: newSecret() }
  const env = {
    ...keys,
    JAVASCRIPT_KEY: newSecret(),
    CLIENT_KEY: newSecret(),
    DOTNET_KEY: newSecret(),
    MASTER_KEY: newSecret(),
    KEY_ENCRYPTION_KEY: newSecret(),
    MONGODB_URI: mongodbUri,
    AUDIT_KEY: auditKey,
    DATA_DIR: createDataDir(),
    // As operators run it. Without the supervision of handlers it also starts faster.
    NODE_ENV: 'production',
    // The line of the start tells that the service is ready.
    LOG_LEVEL: 'info',
    // Tokens contain it, so it must be the same for all services.
    PUBLIC_URL: 'http://service.example.org',
    // No server listens there, so mails stay in the queue.
    SMTP_URL: `smtp://127.0.0.1:${await freePort()}`,
    ADDRESS_RATE: '1000000',
    ACCOUNT_RATE: '1000000',
    LOGIN_ATTEMPTS: '1000000',
    ACCOUNT_LOGIN_ATTEMPTS: '1000000',
    ...more,
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
    const send = (call: ServiceCall) => sendRequest(service.url, call)
    const progress = async (name: string): Promise<RequestProgress> =>
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

async function sendRequest(
  url: string,
  { method, path, body, headers }: ServiceCall,
): Promise<ServiceAnswer> {
  const answer = await fetch(url + path, {
    method,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await answer.text()
  return {
    status: answer.status,
    etag: answer.headers.get('etag') ?? '',
    body: text === '' ? undefined : JSON.parse(text),
  }
}

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from './port.ts'

/** A service process, controlled through its output, its exit and its port. */
export interface ServiceProcess {
  child: ChildProcess
  url: string
  dataDir: string
  output(): string
  /** Resolves when the process reports that it serves; rejects with the output if it ends before. */
  ready: Promise<void>
  /** The exit code; null after a signal. */
  ended: Promise<number | null>
}

/** The end of what the service prints when it serves, in production as a log line; log lines may follow in the same chunk. */
const SERVING = /^Sign up:\n.*\}'$|"msg":"started"/ms

export const createDataDir = (): string => mkdtempSync(join(tmpdir(), 'process-'))

/** Runs the built service with this environment, without the tests' own variables. */
export async function startProcess(env: NodeJS.ProcessEnv = {}, ...args: string[]): Promise<ServiceProcess> {
  const port = env.PORT ?? String(await freePort())
  const dataDir = env.DATA_DIR ?? createDataDir()
  const child = spawn(process.execPath, ['dist/server/main.js', ...args], {
    env: { PATH: process.env.PATH, PORT: port, DATA_DIR: dataDir, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  const ended = once(child, 'close').then(([code]) => code as number | null)
  const ready = new Promise<void>((resolve, reject) => {
    const read = (chunk: Buffer): void => {
      text += chunk
      if (SERVING.test(text)) resolve()
    }
    child.stdout?.on('data', read)
    child.stderr?.on('data', read)
    ended.then((code) => reject(new Error(`ended with ${code}: ${text}`)))
  })
  ready.catch(() => {})
  return { child, url: `http://127.0.0.1:${port}`, dataDir, output: () => text, ready, ended }
}

/** Starts the service, and waits until it serves. */
export async function startServiceProcess(...args: Parameters<typeof startProcess>): Promise<ServiceProcess> {
  const service = await startProcess(...args)
  await service.ready
  return service
}

/** The headers with its class family's keys. */
export function apiKeysOf({ dataDir }: ServiceProcess): Record<string, string> {
  const { applicationId, restApiKey } = JSON.parse(readFileSync(join(dataDir, 'keys.json'), 'utf8'))
  return { 'X-Parse-Application-Id': applicationId, 'X-Parse-REST-API-Key': restApiKey }
}

/** A client that posts to the service with its keys. */
export function createProcessClient(service: ServiceProcess) {
  const headers = { ...apiKeysOf(service), 'Content-Type': 'application/json' }
  const { url } = service
  return async (path: string, body: object) => {
    const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    const { status } = answer
    const text = await answer.text()
    return { status, headers: answer.headers, body: JSON.parse(text || '{}') as { code?: number } }
  }
}

/** The processes that still have files of a data directory open, such as a leftover engine. */
export async function findOpenFiles(dataDir: string): Promise<string> {
  const script = 'ls -l /proc/[0-9]*/fd 2>/dev/null | grep -F "$0" || true'
  return (await promisify(execFile)('sh', ['-c', script, dataDir])).stdout
}

/** Ends a process that a test started. */
export async function stopProcess({ child, ended }: ServiceProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM')
  return await ended
}

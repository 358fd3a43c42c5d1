import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './port.ts'

/** The service as a process of its own, seen through its output, its exit and its port. */
export interface ServiceProcess {
  child: ChildProcess
  url: string
  dataDir: string
  output(): string
  /** Resolves when it says that it serves; rejects with its output when it ends before. */
  ready: Promise<void>
  /** The exit code; null after a signal. */
  ended: Promise<number | null>
}

const dataDirs: string[] = []

export function newDataDir(): string {
  const directory = mkdtempSync(join(tmpdir(), 'health-record-process-'))
  dataDirs.push(directory)
  return directory
}

after(() => {
  for (const directory of dataDirs) rmSync(directory, { recursive: true, force: true })
})

/** Runs the built service with this environment and nothing else of ours. */
export async function startProcess(env: NodeJS.ProcessEnv = {}, ...args: string[]): Promise<ServiceProcess> {
  const port = env.PORT ?? String(await freePort())
  const dataDir = env.DATA_DIR ?? newDataDir()
  const child = spawn(process.execPath, ['dist/server/main.js', ...args], {
    env: { PATH: process.env.PATH, PORT: port, DATA_DIR: dataDir, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  const ended = once(child, 'close').then(([code]) => code as number | null)
  const ready = new Promise<void>((resolve, reject) => {
    const read = (chunk: Buffer): void => {
      text += chunk
      if (text.includes('Sign up:') && text.trimEnd().endsWith("}'")) resolve()
    }
    child.stdout?.on('data', read)
    child.stderr?.on('data', read)
    ended.then((code) => reject(new Error(`ended with ${code}: ${text}`)))
  })
  ready.catch(() => {})
  return { child, url: `http://127.0.0.1:${port}`, dataDir, output: () => text, ready, ended }
}

/** Ends a process that a test started. */
export async function stopProcess({ child, ended }: ServiceProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM')
  return await ended
}

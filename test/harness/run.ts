/** What a run of tests begins and ends with; mocha requires it (.mocharc.json), in every process that runs tests. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedMongo } from '@health-record-service/embedded-mongo'

/** Where the one engine of the run listens, for those who need no engine of their own. */
const ENGINE_URI = 'TEST_ENGINE_URI'

/** A number for each process that runs tests beside others. */
const worker = process.env.MOCHA_WORKER_ID

let engine: Awaited<ReturnType<typeof startEmbeddedMongo>>
const closers: (() => Promise<void>)[] = []

/** All that tests leave in temporary directories is in one, which goes with the run. */
export async function mochaGlobalSetup(this: Mocha.Runner): Promise<void> {
  this.once('end', () => {
    if (this.stats?.tests === 0) this.failures = 1
  })
  this.prependListener('fail', (_test, error: Error & { file?: string }) => {
    if (error.file) error.message = `${error.file}: ${error.message}`
  })
  process.once('SIGINT', () => process.exit(130))
  const directory = mkdtempSync(join(tmpdir(), 'tests-'))
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
  process.env.TMPDIR = directory
  engine = await startEmbeddedMongo({ dataDir: join(directory, 'engine') })
  process.env[ENGINE_URI] = engine.uri.replace(/\/+$/, '')
}

export async function mochaGlobalTeardown(): Promise<void> {
  for (const close of closers.splice(0)) await close()
  await engine.stop()
}

/** A database on the engine of the run that no other process of it uses. */
export const databaseUri = (name: string): string => `${process.env[ENGINE_URI]}/${name}-${worker ?? 'alone'}`

/** Does it when the run is over. A process that runs tests beside others just ends. */
export function atEnd(close: () => Promise<void>): void {
  if (worker === undefined) closers.push(close)
}

/** What a run of tests begins and ends with; mocha requires it (.mocharc.json), in every process of the run. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type EmbeddedMongo, startEmbeddedMongo } from '@health-record-service/embedded-mongo'

/** Where the one engine of the run listens, for those who need no engine of their own. */
const ENGINE_URI = 'TEST_ENGINE_URI'

/** A number for each process that runs tests beside others; none in the one that leads the run. */
const worker = process.env.MOCHA_WORKER_ID

const closers: (() => Promise<void>)[] = []
if (worker === undefined) closers.push((await begin()).stop)
// It is asked to end, and killed a second later: not in the middle of writing its coverage.
else process.once('SIGTERM', () => process.exit())

/** All that tests leave in temporary directories is in one, which goes with the run. */
async function begin(): Promise<EmbeddedMongo> {
  process.once('SIGINT', () => process.exit(130))
  const directory = mkdtempSync(join(tmpdir(), 'tests-'))
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
  process.env.TMPDIR = directory
  const engine = await startEmbeddedMongo({ dataDir: join(directory, 'engine') })
  process.env[ENGINE_URI] = engine.uri.replace(/\/+$/, '')
  return engine
}

export function mochaGlobalSetup(this: Mocha.Runner): void {
  this.once('end', () => {
    if (this.stats?.tests === 0) this.failures = 1
  })
  this.prependListener('fail', (_test, error: Error & { file?: string }) => {
    if (error.file) error.message = `${error.file}: ${error.message}`
  })
}

export async function mochaGlobalTeardown(): Promise<void> {
  for (const close of closers.splice(0).reverse()) await close()
}

/** A database on the engine of the run that no other process of it uses. */
export const databaseUri = (name: string): string => `${process.env[ENGINE_URI]}/${name}-${worker ?? 'alone'}`

/** Does it when the run is over. A process that runs tests beside others just ends. */
export function atEnd(close: () => Promise<void>): void {
  if (worker === undefined) closers.push(close)
}

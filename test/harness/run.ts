/** What a run of tests begins and ends with; mocha requires it (.mocharc.json), in every process of the run. */
import { randomUUID } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { startEmbeddedMongo } from '@health-record-service/embedded-mongo'
import { MongoClient } from 'mongodb'

/** Where those who need no engine of their own find theirs: at MONGODB_URI, or on the one engine of the run. */
const SHARED_URI = 'TEST_SHARED_URI'
/** Stands there for what a database is for. */
const NAME = '_NAME_'

/** A number for each process that runs tests beside others; none in the one that leads the run. */
const worker = process.env.MOCHA_WORKER_ID

const closers: (() => Promise<void>)[] = []
if (worker === undefined) closers.push(await begin())
// It is asked to end, and killed a second later: not in the middle of writing its coverage.
else process.once('SIGTERM', () => process.exit())

/** All that tests leave in temporary directories is in one, which goes with the run. */
async function begin(): Promise<() => Promise<void>> {
  process.once('SIGINT', () => process.exit(130))
  const directory = temporaryIn(tmpdir())
  process.env.TMPDIR = directory
  const given = process.env.TEST_DATABASE === 'given' && process.env.MONGODB_URI
  if (given) {
    // Another run may be at work there.
    const prefix = `test-${randomUUID().slice(0, 8)}-`
    process.env[SHARED_URI] = withDatabase(given, prefix + NAME)
    return () => dropDatabases(given, prefix)
  }
  const engine = await startEmbeddedMongo({ dataDir: join(unsynced() ?? directory, 'engine') })
  process.env[SHARED_URI] = withDatabase(engine.uri, NAME)
  return engine.stop
}

export function mochaGlobalSetup(this: Mocha.Runner): void {
  this.once('end', () => {
    if (this.stats?.tests === 0) this.failures = 1
  })
  this.prependListener('fail', (_test, error: Error & { file?: string }) => {
    if (error.stack) error.stack = inSources(error.stack)
    if (error.file) error.message = `${error.file}: ${error.message}`
  })
}

/** The places of a stack as they are in the sources. Node can do so itself, at the cost of every error that anybody looks at. */
function inSources(stack: string): string {
  return stack.replace(/(?:file:\/\/)?(\/[^\s():]+\.js):(\d+):(\d+)/g, (place, file, line, column) => {
    const map = `${file}.map`
    if (!file.includes('/dist/') || !existsSync(map)) return place
    const found = new SourceMap(JSON.parse(readFileSync(map, 'utf8'))).findEntry(line - 1, column - 1)
    if (!('originalSource' in found)) return place
    const source = relative('', join(dirname(file), found.originalSource))
    return `${source}:${found.originalLine + 1}:${found.originalColumn + 1}`
  })
}

export async function mochaGlobalTeardown(): Promise<void> {
  for (const close of closers.splice(0).reverse()) await close()
}

/** A directory that goes with the run. */
function temporaryIn(parent: string): string {
  const directory = mkdtempSync(join(parent, 'tests-'))
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
  return directory
}

const MEMORY = '/dev/shm'
const ENOUGH_BYTES = 4e9

/** A directory in memory, where there is enough: the run's own engine need not outlive anything, and disks are slow to sync. */
function unsynced(): string | undefined {
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    if (bavail * bsize < ENOUGH_BYTES) return undefined
    return temporaryIn(MEMORY)
  } catch {
    return undefined
  }
}

async function dropDatabases(uri: string, prefix: string): Promise<void> {
  const client = await MongoClient.connect(uri)
  const { databases } = await client.db().admin().listDatabases({ nameOnly: true })
  for (const { name } of databases) if (name.startsWith(prefix)) await client.db(name).dropDatabase()
  await client.close()
}

/** `mongodb://user:password@a,b/other?options` with a database of ours. */
function withDatabase(uri: string, name: string): string {
  return uri.replace(/^(mongodb(?:\+srv)?:\/\/[^/?]+)\/?[^?]*/, `$1/${name}`)
}

/** A database that no other process of the run uses. */
export const databaseUri = (name: string): string =>
  String(process.env[SHARED_URI]).replace(NAME, `${name}-${worker ?? 'alone'}`)

/** Does it when the run is over. A process that runs tests beside others just ends. */
export function atEnd(close: () => Promise<void>): void {
  if (worker === undefined) closers.push(close)
}

/** Starts and ends a test run. Mocha requires this file (.mocharc.json) in every process of the run. */
import { randomUUID } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { startEmbeddedMongo, withDatabase } from '@health-record-service/embedded-mongo'
import fc from 'fast-check'
import { MongoClient } from 'mongodb'
import { bySize } from './test-size.ts'

/** The variable with the URI of the shared database: MONGODB_URI, or the run's own engine. */
const SHARED_URI = 'TEST_SHARED_URI'
/** The placeholder for a database name in it. */
const NAME_PLACEHOLDER = '_NAME_'

/**
 * The tests of all processes keep the engine and the machine busy. An engine that replies late must not count as
 * frozen.
 */
const BUSY_TIMEOUT_MS = 10_000

/** Linux's file system in memory, and the bytes that a run may need in it. */
const MEMORY_DIRECTORY = '/dev/shm'
const ENOUGH_BYTES = 4e9

/** The number of a worker process; undefined in the process that leads the run. */
const worker = process.env.MOCHA_WORKER_ID

// Otherwise the reason of a failure would only be in `cause`, which mocha does not print for all reporters.
fc.configureGlobal({ includeErrorInReport: true })

const closers: (() => Promise<void>)[] = []
if (worker === undefined) closers.push(await startRun())
// Mocha sends SIGTERM and kills a second later, which must not interrupt the writing of coverage.
else process.once('SIGTERM', () => process.exit())

/** Keeps all temporary directories of the tests in one directory, and removes it after the run. */
async function startRun(): Promise<() => Promise<void>> {
  process.once('SIGINT', () => process.exit(130))
  const directory = createTemporaryDirectory(findMemoryDirectory() ?? tmpdir())
  process.env.TMPDIR = directory
  const serverUri = process.env.TEST_DATABASE === 'given' && process.env.MONGODB_URI
  if (serverUri) {
    // Another run may use the same server.
    const prefix = `test-${randomUUID().slice(0, 8)}-`
    process.env[SHARED_URI] = withDatabase(serverUri, prefix + NAME_PLACEHOLDER)
    return () => dropDatabases(serverUri, prefix)
  }
  const engine = await startEmbeddedMongo({ dataDir: join(directory, 'engine') })
  process.env[SHARED_URI] =
    `${withDatabase(engine.uri, NAME_PLACEHOLDER)}&connectTimeoutMS=${BUSY_TIMEOUT_MS}`
  return engine.stop
}

export function mochaGlobalSetup(this: Mocha.Runner): void {
  this.prependListener('fail', (_test, error: Error & { file?: string }) => {
    if (error.stack) error.stack = mapToSources(error.stack)
    if (error.file) error.message = `${error.file}: ${error.message}`
  })
}

/**
 * A time limit is there to end a test that hangs. Since a busy or slow machine must not fail a test, each limit is
 * multiplied, more at full size, where the other tests are busier as well.
 */
const TIMEOUT_FACTOR = bySize(2, 5)

export const mochaHooks = {
  beforeEach(this: Mocha.Context): void {
    this.currentTest?.timeout(TIMEOUT_FACTOR * this.currentTest.timeout())
  },
}

/** Maps stack positions to the sources. Node's own mapping would slow down every error. */
function mapToSources(stack: string): string {
  return stack.replace(/(?:file:\/\/)?(\/[^\s():]+\.js):(\d+):(\d+)/g, (place, file, line, column) => {
    const map = `${file}.map`
    if (!file.includes('/dist/') || !existsSync(map)) return place
    const position = new SourceMap(JSON.parse(readFileSync(map, 'utf8'))).findEntry(line - 1, column - 1)
    if (!('originalSource' in position)) return place
    const source = relative('', join(dirname(file), position.originalSource))
    return `${source}:${position.originalLine + 1}:${position.originalColumn + 1}`
  })
}

export async function mochaGlobalTeardown(): Promise<void> {
  for (const close of closers.splice(0).reverse()) await close()
}

/** A directory that is removed after the run. */
function createTemporaryDirectory(parent: string): string {
  const directory = mkdtempSync(join(parent, 'tests-'))
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
  return directory
}

/**
 * The directory in memory, if there is enough of it: the run's files are disposable, and syncing disks is slow.
 */
function findMemoryDirectory(): string | undefined {
  if (!existsSync(MEMORY_DIRECTORY)) return undefined
  const { bavail, bsize } = statfsSync(MEMORY_DIRECTORY)
  return bavail * bsize < ENOUGH_BYTES ? undefined : MEMORY_DIRECTORY
}

async function dropDatabases(uri: string, prefix: string): Promise<void> {
  const client = await MongoClient.connect(uri)
  const { databases } = await client.db().admin().listDatabases({ nameOnly: true })
  for (const { name } of databases) if (name.startsWith(prefix)) await client.db(name).dropDatabase()
  await client.close()
}

/** A database that no other process of the run uses. */
export const databaseUri = (name: string): string =>
  String(process.env[SHARED_URI]).replace(NAME_PLACEHOLDER, `${name}-${worker ?? 'alone'}`)

/** Runs `close` after the run. A worker process simply ends. */
export function closeAtEnd(close: () => Promise<void>): void {
  if (worker === undefined) closers.push(close)
}

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Collection, type Db, MongoClient } from 'mongodb'
import { startEmbeddedMongo } from './index.ts'

/** The engine as users run it: a forked process on a directory, with the official driver. */
export interface TestEngine {
  dataDir: string
  uri: string
  pid: number
  client: MongoClient
  db: Db
  /** Resolves with the exit code when the process ends by itself. */
  exited(): Promise<number>
  /** kill -9: flushes and closes nothing. The directory stays. */
  kill(): Promise<void>
  /** Starts again on the same directory, after `kill` or a clean stop. */
  restart(): Promise<void>
  /** Stops the process and removes the directory. */
  stop(): Promise<void>
}

/** The time in which the driver notices that an engine has closed its connections. */
const CLOSED_CONNECTIONS_MS = 50

/** One engine for the tests of a block; use it within these tests and their hooks. */
export function engineOfBlock(): TestEngine {
  const engine = {} as TestEngine
  before(() => startEngine(engine))
  after(() => engine.stop())
  return engine
}

/** Starts an engine on a new, empty directory. */
export async function startEngine(engine = {} as TestEngine): Promise<TestEngine> {
  const dataDir = await mkdtemp(join(tmpdir(), 'embedded-mongo-'))
  let running = await open(dataDir)
  return Object.assign(engine, {
    dataDir,
    ...running.handles,
    exited: () => running.server.exited,
    async kill() {
      process.kill(running.server.pid, 'SIGKILL')
      await running.server.exited
      // The driver (7.1) waits for ever if it writes to a connection before it notices that it is closed.
      await sleep(CLOSED_CONNECTIONS_MS)
      await running.handles.client.close(true)
    },
    async restart() {
      await running.handles.client.close(true)
      await running.server.stop()
      running = await open(dataDir)
      Object.assign(engine, running.handles)
    },
    async stop() {
      await running.handles.client.close(true)
      await running.server.stop()
      await rm(dataDir, { recursive: true, force: true })
    },
  })
}

/** Inserts three documents into an emptied database. */
export async function threeThings({ db }: TestEngine): Promise<Collection> {
  await db.dropDatabase()
  const things = db.collection('things')
  await things.insertMany([
    { _id: 1 as never, name: 'a', n: 3, tags: ['x', 'y'] },
    { _id: 2 as never, name: 'b', n: 1, tags: ['y'] },
    { _id: 3 as never, name: 'c', n: 2 },
  ])
  return things
}

/** Inserts so many documents into an emptied database that a command on all of them takes a while. */
export async function manyThings({ db }: TestEngine, count: number): Promise<Collection> {
  await db.dropDatabase()
  const things = db.collection('things')
  const one = (_: unknown, i: number) => ({ _id: i as never, i, group: i % 100, text: 'x' })
  await things.insertMany(Array.from({ length: count }, one))
  return things
}

/** The path of the socket of an engine's URI. */
export const socketPathOf = (uri: string): string => decodeURIComponent(new URL(uri).host)

async function open(dataDir: string) {
  const server = await startEmbeddedMongo({ dataDir })
  const client = new MongoClient(server.uri, { serverSelectionTimeoutMS: 3000 })
  return { server, handles: { uri: server.uri, pid: server.pid, client, db: client.db('test') } }
}

import { createServer, type Server } from 'node:http'
import type { Express } from 'express'
import type { Db, MongoClient } from 'mongodb'
import { classDefinitions } from '../cloud/class-definitions.ts'
import { registerFunctions, registerTriggers } from '../cloud/main.ts'
import { startUpkeep } from '../records/upkeep.ts'
import { createApp } from './app.ts'
import { createGate } from './class-family/gate.ts'
import { defineLogin } from './class-family/login.ts'
import type { Config } from './config.ts'
import { openConnection } from './connection.ts'
import { openDatabase } from './database.ts'
import { createLog, type Log } from './log.ts'
import { parseMailAdapter } from './mail/parse-adapter.ts'
import { openMailQueue } from './mail/queue.ts'
import { createTransport } from './mail/transport.ts'
import { createMetrics, type Metrics } from './metrics.ts'
import { startParse } from './parse.ts'
import { loadParseServer } from './parse-modules.ts'
import { openRecords } from './records.ts'

export interface Service {
  /** Where clients reach it. */
  url: string
  /** Where the data lies. */
  place: string
  app: Express
  client: MongoClient
  db: Db
  log: Log
  /** Resolves when the embedded database has ended by itself: nothing can be served any more. */
  databaseLost: Promise<void>
  /** Takes no more requests, finishes those that run (at most 10 s) and closes everything. */
  stop(): Promise<void>
}

const drainMs = 10_000

/** Starts the service: at most one per process, since Parse Server allows one. Stops what it began when it fails. */
export async function startService(config: Config): Promise<Service> {
  const closers: Array<() => Promise<void> | void> = []
  const stop = async (): Promise<void> => {
    for (const close of closers.splice(0).reverse()) await close()
  }
  try {
    return { ...(await start(config, (close) => closers.push(close))), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function start(
  config: Config,
  onStop: (close: () => Promise<void> | void) => void,
): Promise<Omit<Service, 'stop'>> {
  const url = config.publicUrl ?? `http://${config.host}:${config.port}`
  const log = createLog(config)
  const metrics = createMetrics()
  onStop(watchRejections(log, metrics))

  // Half a second of loading, done while the database starts; a fault shows where the modules are used.
  loadParseServer().catch(() => {})
  const database = await openDatabase(config)
  onStop(() => database.close())
  const connection = await openConnection(database.uri, metrics)
  onStop(() => connection.close())
  const { client, db } = connection

  const mails = await openMailQueue(db, createTransport(config, log), log, metrics)
  onStop(() => mails.close())
  const parse = await startParse(config, url, connection, log, {
    emailAdapter: parseMailAdapter(mails, log),
    definitions: config.open ? [] : classDefinitions,
    cloud: (Parse) => {
      defineLogin(Parse)
      registerFunctions(Parse)
      if (!config.open) registerTriggers(Parse, connection)
    },
    gate: createGate(config.open),
  })
  if (!config.open)
    onStop(await startUpkeep(connection, (err) => log.error({ err }, 'The upkeep of the records failed')))

  const { profiles, close } = await openRecords(connection, config, log)
  onStop(close)

  let draining = false
  const app = await createApp({
    config,
    log,
    metrics,
    parse,
    db,
    profiles,
    publicUrl: url,
    draining: () => draining,
  })
  const server = await listen(app, config)
  onStop(() => {
    draining = true
    return drain(server)
  })
  return { url, place: database.place, app, client, db, log, databaseLost: database.lost }
}

function listen(app: Express, { port, host }: Config): Promise<Server> {
  const server = createServer(app)
  return new Promise((resolve, reject) => {
    server.once('error', reject).listen(port, host, () => resolve(server))
  })
}

async function drain(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  const idle = setInterval(() => server.closeIdleConnections(), 100)
  const impatience = setTimeout(() => server.closeAllConnections(), drainMs)
  await closed
  clearInterval(idle)
  clearTimeout(impatience)
}

/** A promise that nobody awaits must not end the process: it is logged, counted and mended. */
function watchRejections(log: Log, metrics: Metrics): () => void {
  const note = (err: unknown): void => {
    metrics.unhandled.inc()
    log.error({ err }, 'unhandled rejection')
  }
  process.on('unhandledRejection', note)
  return () => {
    process.off('unhandledRejection', note)
  }
}

import { createServer, type Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Express, RequestHandler } from 'express'
import type { Db, MongoClient } from 'mongodb'
import type ParseSdk from 'parse/node'
import { classDefinitions } from '../cloud/class-definitions.ts'
import { defineLogin } from '../cloud/functions/login.ts'
import { accountRoutes } from '../cloud/gate/accounts/routes.ts'
import { createGate } from '../cloud/gate/gate.ts'
import { refusedRoutes } from '../cloud/gate/not-offered.ts'
import { allowedRoutes } from '../cloud/gate/routes.ts'
import { loadParseServer } from '../cloud/parse-server/internals.ts'
import { startParse } from '../cloud/parse-server/start.ts'
import { registerFunctions, registerTriggers } from '../cloud/register.ts'
import { mailboxOf } from '../records/accounts/user/user.ts'
import { startUpkeep } from '../records/ehrs/upkeep.ts'
import { Tail } from '../records/live/tail.ts'
import { languageOf } from '../records/profiles/person/language.ts'
import type { Records } from '../records/store/writing/transaction.ts'
import { linksOf } from './accounts/links.ts'
import type { OpenAccounts } from './accounts/open-accounts.ts'
import { createApp } from './app.ts'
import type { Config } from './config/config.ts'
import { endAbandoned } from './database/abandoned.ts'
import { type Connection, openConnection } from './database/connection.ts'
import { openDatabase } from './database/database.ts'
import { configuredRateLimits } from './limits/rate-limits.ts'
import { openLiveQueries } from './live/live-queries.ts'
import { parseMailAdapter } from './mail/parse-adapter.ts'
import { openMailQueue, sendMailBy } from './mail/queue.ts'
import { appName } from './mail/templates.ts'
import { createTransport } from './mail/transport.ts'
import { openPathFamily } from './path-family.ts'
import { openRecords } from './records.ts'
import { createLog, type Log } from './telemetry/log.ts'
import { createMetrics, type Metrics, observeFigure } from './telemetry/metrics.ts'
import { refuseUnreadable } from './unreadable.ts'

interface Parts {
  /** Where clients reach it. */
  url: string
  /** Where the data are kept. */
  place: string
  app: Express
  client: MongoClient
  db: Db
  log: Log
  /** None in the open test environment. */
  accounts?: OpenAccounts
  /** Has a server offer live queries, too. */
  serve(server: Server): void
  /** Ends what would not end by itself. */
  drain(): Promise<unknown>
  /** Resolves when the embedded database has ended by itself: nothing can be served any more. */
  databaseLost: Promise<void>
}

export interface Service extends Parts {
  /** Stops accepting requests, finishes those that run (at most 10 s) and closes everything. */
  stop(): Promise<void>
}

interface State {
  draining: boolean
  /** A command, which may share the embedded database with the service. */
  beside?: boolean
}

type OnStop = (close: () => Promise<void> | void) => void

const drainMs = 10_000
/** Longer than the minute after which proxies drop an idle connection: the one to close it must be the proxy. */
const keepAliveMs = 65_000

/** Starts the service: at most one per process, since Parse Server allows one. Stops what it began when it fails. */
export function startService(config: Config): Promise<Service> {
  return stoppable(async (onStop) => {
    const state: State = { draining: false }
    const parts = await open(config, onStop, state)
    const server = await listen(parts, config)
    const closeSilent = silentConnections(server)
    onStop(() => {
      state.draining = true
      closeSilent()
      return Promise.all([drain(server), parts.drain()]).then(() => {})
    })
    return parts
  })
}

/** All of the service but its port: for commands, which work on the same data by the same rules, also while it runs. */
export const openService = (config: Config): Promise<Service> =>
  stoppable((onStop) => open(config, onStop, { draining: false, beside: true }))

async function stoppable(start: (onStop: OnStop) => Promise<Parts>): Promise<Service> {
  const closers: Array<() => Promise<void> | void> = []
  const stop = async (): Promise<void> => {
    for (const close of closers.splice(0).reverse()) await close()
  }
  try {
    return { ...(await start((close) => closers.push(close))), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function open(config: Config, onStop: OnStop, state: State): Promise<Parts> {
  const publicUrl = config.publicUrl ?? `http://${config.host}:${config.port}`
  const log = createLog(config)
  const metrics = createMetrics()
  onStop(watchRejections(log, metrics))

  // Half a second of loading, done while the database starts; a fault shows where the modules are used.
  loadParseServer().catch(() => {})
  const { engine, database, spend, mails } = await openGround(config, onStop, state, { log, metrics })
  const { client, db } = database
  const { records, services, close } = await openRecords(database, config, log, sendMailBy(mails), metrics)
  onStop(close)
  // They stand on Parse Server's passwords and sessions: there is no answer before they are opened.
  let accountAnswers: RequestHandler = (_req, _res, next) => next()
  const parse = await startParse(config, publicUrl, database, log, {
    ...classFamilyParts(config, records, database),
    emailAdapter: parseMailAdapter(mails, config.open ? undefined : linksOf(publicUrl), log),
    gate: createGate({ open: config.open, records, spend, accounts: (...all) => accountAnswers(...all) }),
  })
  if (!config.open) {
    const upkeep = await startUpkeep(records, (err) => log.error({ err }, 'The upkeep of the records failed'))
    onStop(() => upkeep.end())
  }

  const tail = new Tail(db, (err) => log.error({ err }, 'What has changed could not be followed'))
  onStop(() => tail.end())
  const draining = () => state.draining
  const parts = { config, publicUrl, log, metrics, database, mails, records, services, tail, spend, draining }
  const { accounts, drain, ...pathFamily } = await openPathFamily(parts)
  onStop(() => pathFamily.close())
  if (accounts) accountAnswers = accountRoutes({ ...accounts.services, records, spend })
  const app = await createApp({
    ...{ config, log, metrics, parse, publicUrl, spend, draining },
    pathFamily: pathFamily.options,
  })
  const live = await openLiveQueries({ ...parts, app, sessions: accounts?.services.sessions })
  const { place, lost: databaseLost } = engine
  const endless = { serve: live.serve, drain: () => Promise.all([drain(), live.end()]) }
  return {
    url: publicUrl,
    place,
    app,
    client,
    db,
    log,
    ...endless,
    databaseLost,
    ...(accounts && { accounts }),
  }
}

/** What everything stands on: the database, the limits, the mails. */
async function openGround(
  config: Config,
  onStop: OnStop,
  state: State,
  { log, metrics }: { log: Log; metrics: Metrics },
) {
  const engine = await openDatabase(config, state.beside)
  onStop(() => engine.close())
  const database = await openConnection(engine.uri, metrics, config.instances === 'several')
  onStop(() => database.close())
  const { client, db } = database
  onStop(watchAbandoned(config, client, log))
  observeFigure(metrics, databaseSize, () => engine.size(db))
  const spend = await configuredRateLimits(db, config)
  const mails = await openMailQueue(db, {
    ...{ transport: createTransport(config, log), spend, log, metrics },
    ...readersIn(db),
  })
  onStop(() => mails.close())
  return { engine, database, spend, mails }
}

const databaseSize = { name: 'database_size_bytes', help: 'Bytes that the database takes on its disk' }

/** Where mails to users go, and in which language. */
const readersIn = (db: Db) => ({
  mailboxOf: (mvUid: string) => mailboxOf(db, mvUid),
  languageOf: (email: string) => languageOf(db, { email }),
})

/** The embedded engine hears when a process dies, another server may not. */
function watchAbandoned({ mongodbUri }: Config, client: MongoClient, log: Log): () => Promise<void> {
  if (mongodbUri === undefined) return async () => {}
  const onFault = (err: unknown) => log.warn({ err }, 'Abandoned transactions could not be ended')
  const loop = endAbandoned(client, onFault)
  return () => loop.end()
}

/** What the class family is, with the rules or, in the open test environment, without them. */
const classFamilyParts = ({ open }: Config, records: Records, database: Connection) => ({
  appName,
  routes: open ? allowedRoutes : [...allowedRoutes, ...refusedRoutes],
  definitions: open ? [] : classDefinitions,
  cloud: (Parse: typeof ParseSdk) => {
    registerFunctions(Parse)
    if (open) defineLogin(Parse)
    else registerTriggers(Parse, records, database)
  },
})

function listen({ app, serve }: Parts, { port, host }: Config): Promise<Server> {
  const server = createServer(app)
  serve(server)
  return new Promise((resolve, reject) => {
    server.keepAliveTimeout = keepAliveMs
    refuseUnreadable(server)
    server
      .once('error', (error) => reject(listeningFault(error, { port, host })))
      .listen(port, host, () => resolve(server))
  })
}

/** In the words of whoever has to mend it. */
function listeningFault(error: NodeJS.ErrnoException, { port, host }: Pick<Config, 'port' | 'host'>): Error {
  const why: Record<string, string> = {
    EADDRINUSE: `PORT ${port} is in use by another program: stop it, or set PORT to another port`,
    EACCES: `PORT ${port} must not be opened by this user: set PORT to 1024 or higher`,
    EADDRNOTAVAIL: `HOST ${host} is not an address of this machine: set HOST to one, or to 0.0.0.0 for all`,
    ENOTFOUND: `HOST ${host} is unknown: set HOST to an address of this machine`,
  }
  return new Error(why[error.code ?? ''] ?? error.message, { cause: error })
}

/** What clients have opened in advance, and not said anything on yet: to Node that is not idle. @returns what closes them */
function silentConnections(server: Server): () => void {
  const open = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  return () => {
    for (const socket of open) if (socket.bytesRead === 0) socket.destroy()
  }
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

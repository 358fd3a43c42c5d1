import type { Server } from 'node:http'
import type { Server as NetServer, Socket } from 'node:net'
import type { Express, RequestHandler } from 'express'
import type { Db, MongoClient } from 'mongodb'
import type ParseSdk from 'parse/node'
import { classDefinitions } from '../cloud/class-definitions.ts'
import {
  registerCloudFunctions,
  registerCloudTriggers,
  registerRecordFunctions,
} from '../cloud/cloud-code.ts'
import { defineLoginFunction } from '../cloud/functions/login-function.ts'
import { createAccountHandler } from '../cloud/http/accounts/account-routes.ts'
import { createClassFamilyMiddleware } from '../cloud/http/class-family-middleware.ts'
import { allowedRoutes } from '../cloud/http/class-family-routes.ts'
import { disabledRoutes } from '../cloud/http/disabled-endpoints.ts'
import type { FindHelper } from '../cloud/http/helper-access.ts'
import { loadParseServer } from '../cloud/parse-server/internals.ts'
import { startParse } from '../cloud/parse-server/start-parse.ts'
import { registerOpenTriggers } from '../cloud/triggers/open-triggers.ts'
import { createObjectWriters } from '../cloud/writes/object-writers.ts'
import { etagOf, parseIfMatch } from '../path-api/reply/etag.ts'
import { findMailbox } from '../records/accounts/user/user.ts'
import { createParticipantFinder } from '../records/care-plans/participants/participants.ts'
import { startEhrMaintenance } from '../records/ehrs/maintenance.ts'
import { ChangeFeed } from '../records/live/change-feed.ts'
import { findLanguage } from '../records/profiles/person/language.ts'
import { LogicalClock } from '../records/store/clocks/logical-clock.ts'
import { SERVICE_NAME } from '../schemas/text/service-name.ts'
import { createMailLinks } from './accounts/mail-links.ts'
import type { OpenAccounts } from './accounts/open-accounts.ts'
import { createApp } from './app.ts'
import type { Config } from './config/config.ts'
import { localUrlOf, storeServiceUrls, urlOf } from './config/service-urls.ts'
import { startEndingAbandonedTransactions } from './database/abandoned-transactions.ts'
import {
  type DatabaseConnection,
  isResponding,
  openDatabaseConnection,
} from './database/database-connection.ts'
import { type DatabaseUse, openDatabase } from './database/open-database.ts'
import { consoleUrlOf } from './http/console.ts'
import { createHttpServer } from './http/http-server.ts'
import { addListeningCopies } from './http/listening-copies.ts'
import { pathPrefixOf } from './http/path-prefix.ts'
import { openAdmissionControl } from './limits/open-admission-control.ts'
import { openConfiguredRateLimits } from './limits/rate-limits.ts'
import { openLiveQueries } from './live/open-live-queries.ts'
import { openMailQueue, toSendMail } from './mail/mail-queue.ts'
import { serviceNameIn } from './mail/mail-templates.ts'
import { createMailTransport } from './mail/mail-transport.ts'
import { createParseMailAdapter } from './mail/parse-mail-adapter.ts'
import { openPathFamily, type PathFamilyDependencies } from './open-path-family.ts'
import { readJsonFiles } from './records/json-files.ts'
import { findLastBackup } from './records/last-backup.ts'
import { openRecords, type RecordServices } from './records/open-records.ts'
import { startClockCheck } from './telemetry/clock-check.ts'
import { createLog, type Log } from './telemetry/log.ts'
import { createMetrics, type Metrics, observeGauge } from './telemetry/metrics.ts'
import { startSettingsCheck } from './telemetry/settings-check.ts'

interface ServiceParts {
  /** Public URL. */
  url: string
  /** Location of the data. */
  place: string
  app: Express
  client: MongoClient
  db: Db
  log: Log
  /** undefined in the open test environment. */
  accounts?: OpenAccounts
  /** Adds live queries to a server. */
  serve(server: Server): void
  /** Ends streams and other work that would not end by itself. */
  drain(): Promise<unknown>
  /** Resolves with the reason when the embedded database has ended by itself; the service cannot continue then. */
  databaseLost: Promise<string>
}

export interface Service extends ServiceParts {
  /** Stops accepting requests, finishes running ones (at most 10 s) and closes everything. */
  stop(): Promise<void>
}

interface ServiceState {
  draining: boolean
}

/** A command may share the embedded database with the service. */
type ServiceUse = ServiceState & Pick<DatabaseUse, 'sharesEngine' | 'requiresData'>

type OnStop = (close: () => Promise<void> | void) => void

const DRAIN_TIMEOUT_MS = 10_000

/** Both families read and write entity tags in the same way. */
const entityTags = { etagOf, parseIfMatch }

/**
 * Starts the service, at most one per process because of Parse Server. Closes everything if the start fails.
 */
export function startService(config: Config): Promise<Service> {
  return startStoppable(async (onStop) => {
    const state: ServiceState = { draining: false }
    const parts = await openParts(config, onStop, state)
    const server = await listen(parts, config)
    onStop(storeServiceUrls(config.dataDir, { url: localUrlOf(config), publicUrl: parts.url }))
    const copies = addListeningCopies(server)
    const closeSilent = trackSilentConnections(server)
    onStop(() => {
      state.draining = true
      closeSilent()
      return Promise.all([drainServer(server, copies), parts.drain()]).then(() => {})
    })
    return parts
  })
}

/**
 * Opens the service without a port, for commands. They use the same data and rules, even while the service
 * runs.
 * @param requiresData whether a command must not create a database
 */
export const openService = (config: Config, requiresData: boolean): Promise<Service> =>
  startStoppable((onStop) => openParts(config, onStop, { draining: false, sharesEngine: true, requiresData }))

async function startStoppable(start: (onStop: OnStop) => Promise<ServiceParts>): Promise<Service> {
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

async function openParts(config: Config, onStop: OnStop, state: ServiceUse): Promise<ServiceParts> {
  const publicUrl = publicUrlOf(config)
  const log = createLog(config, state.sharesEngine ? 2 : 1)
  const metrics = createMetrics()
  const sharedParts = { config, publicUrl, log, metrics }
  onStop(watchRejections(log, metrics))

  // Loading takes half a second and runs while the database starts. A failure appears where the modules are
  // used.
  loadParseServer().catch(() => {})
  const { engine, database, mails, ...limits } = await openInfrastructure(config, onStop, state, sharedParts)
  const { client, db } = database
  const { close, ...recordServices } = await openRecords(database, config, log, toSendMail(mails), metrics)
  onStop(close)
  const { context } = recordServices
  const lateAccounts = createLateAccounts()
  const { open } = config
  const links = open ? undefined : createMailLinks(publicUrl)
  const parse = await startParse(config, publicUrl, database, log, {
    ...createClassFamilyOptions(config, recordServices, database),
    emailAdapter: createParseMailAdapter(mails, links, log),
    middleware: createClassFamilyMiddleware({ open, context, entityTags, ...limits, ...lateAccounts.routes }),
  })
  if (!open) await startMaintenance(recordServices, log, onStop)

  const onFault = (err: unknown) => log.error({ err }, 'Reading the change feed failed')
  const feed = new ChangeFeed(db, createParticipantFinder(context), onFault)
  onStop(() => feed.end())
  const draining = () => state.draining
  const parts = { ...sharedParts, ...recordServices, database, mails, feed, ...limits, draining }
  const { accounts, drain, ...pathFamily } = await openPathFamily(parts)
  onStop(() => pathFamily.close())
  if (accounts) lateAccounts.open(accounts, parts)
  const app = await createApp({ ...parts, parse, pathFamily: pathFamily.options })
  const live = await openLiveQueries({ ...parts, app, sessions: accounts?.services.sessions })
  return {
    url: publicUrl,
    place: engine.location,
    app,
    client,
    db,
    log,
    serve: live.serve,
    drain: () => Promise.all([drain(), live.end()]),
    databaseLost: engine.unexpectedExit,
    ...(accounts && { accounts }),
  }
}

/**
 * Accounts need the passwords and sessions of Parse Server. Until they are opened, nothing answers their routes, and
 * nobody is a helper.
 */
function createLateAccounts() {
  let answer: RequestHandler = (_req, _res, next) => next()
  let findHelper: FindHelper = async () => undefined
  return {
    routes: {
      accounts: ((...parameters) => answer(...parameters)) satisfies RequestHandler,
      findHelper: ((token) => findHelper(token)) satisfies FindHelper,
    },
    open({ services }: OpenAccounts, { context, consume, ...others }: PathFamilyDependencies) {
      const { helpers } = others.services
      answer = createAccountHandler({ ...services, helpers, context, consume })
      findHelper = (token) => services.sessions.findHelper(token)
    },
  }
}

async function startMaintenance(
  { context, services }: Pick<RecordServices, 'context' | 'services'>,
  log: Log,
  onStop: OnStop,
): Promise<void> {
  const maintenance = await startEhrMaintenance(
    context,
    (ehrId) => services.chats.marks.deleteOfEhr(ehrId),
    (err) => log.error({ err }, 'Maintenance of the records failed'),
  )
  onStop(() => maintenance.stop())
}

/** Opens the infrastructure: database, rate limits and mails. */
async function openInfrastructure(
  config: Config,
  onStop: OnStop,
  state: ServiceUse,
  { log, metrics }: { log: Log; metrics: Metrics },
) {
  const engine = await openDatabase(config, state)
  onStop(() => engine.close())
  const database = await openDatabaseConnection(engine.uri, metrics, {
    hasOtherInstances: config.instances === 'several',
    open: config.open,
  })
  onStop(() => database.close())
  const { client, db } = database
  LogicalClock.of(db).onOtherWriter = () =>
    log.warn(
      'Another process writes to the database. If it is an instance, set INSTANCES=several for each of them',
    )
  onStop(startAbandonedTransactionCheck(config, client, log))
  onStop(startClockCheck(db, log))
  if (!state.sharesEngine && config.mongodbUri !== undefined)
    onStop(await startSettingsCheck(db, comparableSettings(config), log))
  observeGauge(metrics, DATABASE_UP_GAUGE, async () => Number(await isResponding(db)))
  observeGauge(metrics, DATABASE_SIZE_GAUGE, () => engine.size(db))
  observeGauge(metrics, LAST_BACKUP_GAUGE, () => findLastBackupSeconds(db, config))
  const consume = await openConfiguredRateLimits(db, config)
  const mails = await openMailQueue(db, {
    transport: state.sharesEngine ? undefined : createMailTransport(config, log),
    consume,
    log,
    metrics,
    ...createMailReaders(db),
    commonValues: createMailValues(config),
  })
  onStop(() => mails.close())
  const limits = { consume, admissionControl: openAdmissionControl(metrics) }
  return { engine, database, databaseSize: () => engine.size(db), mails, ...limits }
}

const DATABASE_UP_GAUGE = { name: 'database_up', help: '1 if the database responds, otherwise 0' }
const LAST_BACKUP_GAUGE = {
  name: 'last_backup_timestamp_seconds',
  help: 'Time of the last backup of the embedded database, in seconds since 1970; 0 without one',
}
/** 0 lets an alert notice that there has never been a backup. The backups of a MongoDB are unknown. */
async function findLastBackupSeconds(db: Db, config: Config): Promise<number | undefined> {
  if (config.mongodbUri !== undefined) return undefined
  return ((await findLastBackup(db, config))?.getTime() ?? 0) / 1000
}

const DATABASE_SIZE_GAUGE = { name: 'database_size_bytes', help: 'Size of the database on disk in bytes' }

/** Looks up the addresses and languages of mail recipients. */
const createMailReaders = (db: Db) => ({
  mailboxOf: (mvUid: string) => findMailbox(db, mvUid),
  languageOf: (email: string) => findLanguage(db, { email }),
})

/** The settings that instances compare: directories of files by their content, since machines may mount them elsewhere. */
const comparableSettings = (config: Config) => ({
  ...config,
  publicUrl: publicUrlOf(config),
  carePlanTemplates: JSON.stringify(readJsonFiles(config.carePlanTemplates, 'CARE_PLAN_TEMPLATES')),
  textPacks: JSON.stringify(readJsonFiles(config.textPacks, 'TEXT_PACKS')),
})

const publicUrlOf = (config: Config): string => config.publicUrl ?? urlOf(config)

/** The contact is for people whose account somebody else has changed. */
function createMailValues(config: Config) {
  const publicUrl = publicUrlOf(config)
  const { newPassword } = createMailLinks(publicUrl)
  const { contactEmail: contact = publicUrl, appUrl = consoleUrlOf(publicUrl) } = config
  return (language: string | undefined) => ({
    appName: serviceNameIn(language),
    contact,
    appUrl,
    link: newPassword(language),
  })
}

/** The embedded engine detects dead processes; an external server may not. */
function startAbandonedTransactionCheck(
  { mongodbUri }: Config,
  client: MongoClient,
  log: Log,
): () => Promise<void> {
  if (mongodbUri === undefined) return async () => {}
  const onFault = (err: unknown) => log.warn({ err }, 'Ending abandoned transactions failed')
  const loop = startEndingAbandonedTransactions(client, onFault)
  return () => loop.stop()
}

/** Options of the class family; the open test environment has no rules, and any class. */
const createClassFamilyOptions = (
  { open }: Config,
  { context, services, recordsOf }: Omit<RecordServices, 'close'>,
  database: DatabaseConnection,
) => ({
  appName: SERVICE_NAME,
  routes: open ? allowedRoutes : [...allowedRoutes, ...disabledRoutes],
  definitions: open ? [] : classDefinitions,
  cloud: (Parse: typeof ParseSdk) => {
    registerCloudFunctions(Parse)
    if (open) {
      defineLoginFunction(Parse)
      registerOpenTriggers(Parse, context)
    } else {
      registerCloudTriggers(Parse, context)
      registerRecordFunctions(Parse, services)
      database.handOverWrites(createObjectWriters(context, services.ehrs, recordsOf))
    }
  },
})

/** Connections that wait to be accepted. Beyond it the system drops them, and clients try again after a second. */
const LISTEN_BACKLOG = 4_096

function listen({ app, serve, url }: ServiceParts, { port, host }: Config): Promise<Server> {
  const server = createHttpServer(app, pathPrefixOf(url))
  serve(server)
  return new Promise((resolve, reject) => {
    server
      .once('error', (error) => reject(toListenError(error, { port, host })))
      .listen({ port, host, backlog: LISTEN_BACKLOG }, () => resolve(server))
  })
}

/** Explains a listen error to the operator. */
function toListenError(error: NodeJS.ErrnoException, { port, host }: Pick<Config, 'port' | 'host'>): Error {
  const why: Record<string, string> = {
    EADDRINUSE: `PORT ${port} is in use by another program. Stop it, or set PORT to another port.`,
    EACCES: `This user has no permission to open PORT ${port}. Set PORT to 1024 or higher.`,
    EADDRNOTAVAIL: `HOST ${host} is not an address of this machine. Set HOST to one, or to 0.0.0.0 for all.`,
    ENOTFOUND: `HOST ${host} cannot be resolved. Set HOST to an address of this machine.`,
  }
  return new Error(why[error.code ?? ''] ?? error.message, { cause: error })
}

/**
 * Tracks connections on which clients have not sent anything yet; Node does not count them as idle.
 * @returns a function that closes them
 */
function trackSilentConnections(server: Server): () => void {
  const open = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  return () => {
    for (const socket of open) if (socket.bytesRead === 0) socket.destroy()
  }
}

async function drainServer(server: Server, copies: Promise<NetServer[]>): Promise<void> {
  const closing = Promise.all([server, ...(await copies)].map(closeServer))
  const idle = setInterval(() => server.closeIdleConnections(), 100)
  const impatience = setTimeout(() => server.closeAllConnections(), DRAIN_TIMEOUT_MS)
  await closing
  clearInterval(idle)
  clearTimeout(impatience)
}

const closeServer = (server: NetServer): Promise<void> =>
  new Promise((resolve) => server.close(() => resolve()))

/** Logs and counts unhandled rejections, which must not end the process. */
function watchRejections(log: Log, metrics: Metrics): () => void {
  const note = (err: unknown): void => {
    metrics.unhandled.inc()
    log.error({ err }, 'Unhandled rejection')
  }
  process.on('unhandledRejection', note)
  return () => {
    process.off('unhandledRejection', note)
  }
}

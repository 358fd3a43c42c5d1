import express, { type Express, type RequestHandler } from 'express'
import helmet from 'helmet'
import { createClassFamilyHandler, isServedAtRoot } from '../cloud/http/class-family-routes.ts'
import { createPathApiRouter, type PathApiOptions } from '../path-api/router.ts'
import type { RateLimiter } from '../records/limits/rate-limiter.ts'
import type { Config } from './config/config.ts'
import type { DatabaseConnection } from './database/database-connection.ts'
import { isConsolePath, serveConsole, showConsoleFirst } from './http/console.ts'
import { removePathPrefix } from './http/path-prefix.ts'
import { hideUndeclaredProxy } from './http/undeclared-proxy.ts'
import { refuseEarly } from './limits/early-refusals.ts'
import type { Log } from './telemetry/log.ts'
import { type Metrics, metricsRoute } from './telemetry/metrics.ts'
import { observeRequests } from './telemetry/observe-requests.ts'

export interface AppDependencies {
  config: Config
  log: Log
  metrics: Metrics
  parse: Express
  pathFamily: PathApiOptions
  publicUrl: string
  consume: RateLimiter
  database: Pick<DatabaseConnection, 'wasLostSince'>
  /** Whether the service drains; each response then closes its connection. */
  draining: () => boolean
}

/** Creates the app: all middleware in the order in which a request passes it. */
export async function createApp(parts: AppDependencies): Promise<Express> {
  const { config, log, metrics, parse, pathFamily, consume, database } = parts
  const app = express()
  app.disable('x-powered-by')
  app.set('trust proxy', config.trustProxy)
  app.use(hideUndeclaredProxy(log))

  const pathApi = await createPathApiRouter(pathFamily)
  const isServed = (path: string) =>
    /^\/1(\/|$)/.test(path) || isServedAtRoot(path) || isConsolePath(path) || pathApi.isServed(path)
  const observe = observeRequests(log, metrics, config.accessLog === 'on')
  const setHeaders = setCommonHeaders(parts)
  // Only this exact path is served, also with a PUBLIC_URL that has a path. So one rule of the proxy can block it.
  app.get(/^\/metrics$/, observe, setHeaders, metricsRoute(metrics))
  if (pathFamily.pathPrefix) app.use(removePathPrefix(pathFamily.pathPrefix, isServed))
  app.use(observe, setHeaders)
  const isClassFamily = (path: string) => /^\/1(\/|$)/.test(path) || isServedAtRoot(path)
  app.use(refuseEarly(pathFamily.admissionControl, { isClassFamily, pathPrefix: pathFamily.pathPrefix }))
  const serveClasses = createClassFamilyHandler(parse, {
    trustProxy: config.trustProxy,
    open: config.open,
    log,
    consume,
    wasDatabaseLostSince: database.wasLostSince,
  })
  app.use(moveRootClassRoutes(pathFamily.pathPrefix))
  app.use('/1', serveClasses)
  if (!config.open)
    app.use(
      showConsoleFirst(pathFamily.pathPrefix),
      serveConsole(pathFamily.pathPrefix, pathFamily.services.terms?.url),
    )
  app.use(pathApi.router)
  return app
}

/** Serves root routes of the class family as those below /1: Parse Server then checks one path for both. */
function moveRootClassRoutes(pathPrefix: string): RequestHandler {
  return (req, _res, next) => {
    if (isServedAtRoot(req.path)) {
      req.url = `/1${req.url}`
      req.originalUrl = pathPrefix + req.url
    }
    next()
  }
}

/** Sets the headers of every response: browser security and connection state. */
function setCommonHeaders({ config, publicUrl, draining }: AppDependencies): RequestHandler {
  // A service without https must not let its pages upgrade forms to https.
  const upgradeInsecureRequests = publicUrl.startsWith('https:') ? [] : null
  const careful = helmet({ contentSecurityPolicy: { directives: { upgradeInsecureRequests } } })
  return (req, res, next) => {
    if (config.open) res.set('X-Environment', 'open-test')
    if (draining()) res.set('Connection', 'close')
    careful(req, res, next)
  }
}

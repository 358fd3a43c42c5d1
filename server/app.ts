import express, { type Express, type RequestHandler } from 'express'
import helmet from 'helmet'
import { createPathApi, type PathApiOptions } from '../path-api/router.ts'
import { handleErrors, noSuchRoute, speakErrors } from './class-family/errors.ts'
import { loginByPostOnly } from './class-family/login.ts'
import { classFamilyPaths, noteRoute, servesAtRoot } from './class-family/routes.ts'
import type { Config } from './config.ts'
import type { Log } from './log.ts'
import { type Metrics, metricsRoute } from './metrics.ts'
import { observe } from './observe.ts'

export interface AppParts {
  config: Config
  log: Log
  metrics: Metrics
  /** Parse Server. */
  parse: RequestHandler
  pathFamily: PathApiOptions
  publicUrl: string
  /** While the service drains, each answer is the last one of its connection. */
  draining: () => boolean
}

/** Everything that a request may meet, in the order in which it meets it. */
export async function createApp(parts: AppParts): Promise<Express> {
  const { config, log, metrics, parse, pathFamily, publicUrl, draining } = parts
  const app = express()
  app.disable('x-powered-by')
  app.set('trust proxy', config.trustProxy)

  app.use(observe(log, metrics))
  app.use(securityHeaders(publicUrl))
  app.use(sayState(config.open, draining))
  app.get('/metrics', metricsRoute(metrics))

  app.use(classFamilyPaths, speakErrors)
  app.use(noteRoute, loginByPostOnly)
  app.use('/1', parse)
  app.use((req, res, next) => (servesAtRoot(req.path) ? parse(req, res, next) : next()))
  app.use(classFamilyPaths, noSuchRoute, handleErrors(log))

  app.use(await createPathApi(pathFamily))
  return app
}

/** A page that upgrades its own forms to https would not work on a service that has none. */
function securityHeaders(publicUrl: string): RequestHandler {
  const upgradeInsecureRequests = publicUrl.startsWith('https:') ? [] : null
  return helmet({ contentSecurityPolicy: { directives: { upgradeInsecureRequests } } })
}

function sayState(open: boolean, draining: () => boolean): RequestHandler {
  return (_req, res, next) => {
    if (open) res.set('X-Environment', 'open-test')
    if (draining()) res.set('Connection', 'close')
    next()
  }
}

import express, { type Express, type RequestHandler } from 'express'
import helmet from 'helmet'
import { classFamily, servesAtRoot } from '../cloud/gate/routes.ts'
import { createPathApi, type PathApiOptions } from '../path-api/router.ts'
import type { Spend } from '../records/limits/rate-limits.ts'
import type { Config } from './config/config.ts'
import type { Log } from './telemetry/log.ts'
import { type Metrics, metricsRoute } from './telemetry/metrics.ts'
import { observe } from './telemetry/observe.ts'

export interface AppParts {
  config: Config
  log: Log
  metrics: Metrics
  /** Parse Server. */
  parse: Express
  pathFamily: PathApiOptions
  publicUrl: string
  spend: Spend
  /** While the service drains, each answer is the last one of its connection. */
  draining: () => boolean
}

/** Everything that a request may meet, in the order in which it meets it. */
export async function createApp(parts: AppParts): Promise<Express> {
  const { config, log, metrics, parse, pathFamily, spend } = parts
  const app = express()
  app.disable('x-powered-by')
  app.set('trust proxy', config.trustProxy)

  app.use(observe(log, metrics, config.accessLog === 'on'))
  app.use(headers(parts))
  const serveClasses = classFamily(parse, { trustProxy: config.trustProxy, open: config.open, log, spend })
  app.use('/1', serveClasses)
  app.use((req, res, next) => (servesAtRoot(req.path) ? serveClasses(req, res, next) : next()))
  app.get('/metrics', metricsRoute(metrics))
  app.use(await createPathApi(pathFamily))
  return app
}

/** What every answer says: browsers be careful, and the state of the service. */
function headers({ config, publicUrl, draining }: AppParts): RequestHandler {
  // A page that upgrades its own forms to https would not work on a service that has none.
  const upgradeInsecureRequests = publicUrl.startsWith('https:') ? [] : null
  const careful = helmet({ contentSecurityPolicy: { directives: { upgradeInsecureRequests } } })
  return (req, res, next) => {
    if (config.open) res.set('X-Environment', 'open-test')
    if (draining()) res.set('Connection', 'close')
    careful(req, res, next)
  }
}

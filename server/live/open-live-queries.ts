import type { Server } from 'node:http'
import type { Express } from 'express'
import { LiveQueries } from '../../cloud/live/live-queries.ts'
import { LiveQueryServer } from '../../cloud/live/live-query-server.ts'
import { createParseTransform } from '../../cloud/parse-server/internals.ts'
import type { Sessions } from '../../records/accounts/login/sessions.ts'
import type { RateLimiter } from '../../records/limits/rate-limiter.ts'
import type { ChangeFeed } from '../../records/live/change-feed.ts'
import type { StoreContext } from '../../records/store/writing/transaction.ts'
import type { Config } from '../config/config.ts'
import { pathPrefixOf } from '../http/path-prefix.ts'
import type { Log } from '../telemetry/log.ts'

interface LiveQueryOptions {
  config: Config
  publicUrl: string
  log: Log
  app: Express
  context: StoreContext
  feed: ChangeFeed
  consume: RateLimiter
  /** undefined in the open test environment, which records no changes. */
  sessions: Sessions | undefined
}

/** Opens live queries on the port of the service; Parse Server must have started. */
export async function openLiveQueries(parts: LiveQueryOptions) {
  const { config, publicUrl, app, consume, sessions } = parts
  const queries = sessions && new LiveQueries(await createLiveQueryDependencies(parts, sessions))
  const origins = [new URL(publicUrl).origin, ...(config.corsOrigins ?? [])]
  const sockets = new LiveQueryServer({ app, consume, origins, queries, pathPrefix: pathPrefixOf(publicUrl) })
  return {
    serve: (server: Server) => sockets.serve(server),
    async end() {
      await sockets.end()
      await queries?.end()
    },
  }
}

async function createLiveQueryDependencies(
  { config, log, context, feed, consume }: LiveQueryOptions,
  sessions: Sessions,
) {
  const { applicationId, javascriptKey, clientKey, dotnetKey, restApiKey } = config
  return {
    context,
    feed,
    sessions,
    consume,
    applicationId,
    forms: await createParseTransform(applicationId),
    clientKeys: [javascriptKey, clientKey, dotnetKey, restApiKey],
    onFault: (err: unknown) => log.error({ err }, 'Delivering changes to live queries failed'),
  }
}

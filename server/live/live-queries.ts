import type { Server } from 'node:http'
import type { Express } from 'express'
import { LiveQueries } from '../../cloud/live/live-queries.ts'
import { Sockets } from '../../cloud/live/sockets.ts'
import { parseForms } from '../../cloud/parse-server/internals.ts'
import type { Sessions } from '../../records/accounts/login/sessions.ts'
import type { Spend } from '../../records/limits/rate-limits.ts'
import type { Tail } from '../../records/live/tail.ts'
import type { Records } from '../../records/store/writing/transaction.ts'
import type { Config } from '../config/config.ts'
import type { Log } from '../telemetry/log.ts'

interface Parts {
  config: Config
  publicUrl: string
  log: Log
  app: Express
  records: Records
  tail: Tail
  spend: Spend
  /** None in the open test environment, where nothing is kept of what has changed. */
  sessions: Sessions | undefined
}

/** Live queries on the port of the service; Parse Server must have started. */
export async function openLiveQueries(parts: Parts) {
  const { config, publicUrl, app, spend, sessions } = parts
  const queries = sessions && new LiveQueries(await queryParts(parts, sessions))
  const origins = [new URL(publicUrl).origin, ...(config.corsOrigins ?? [])]
  const sockets = new Sockets({ app, spend, origins, queries })
  return {
    serve: (server: Server) => sockets.serve(server),
    async end() {
      await sockets.end()
      await queries?.end()
    },
  }
}

async function queryParts({ config, log, records, tail, spend }: Parts, sessions: Sessions) {
  const { applicationId, javascriptKey, clientKey, dotnetKey, restApiKey } = config
  return {
    ...{ records, tail, sessions, spend, applicationId },
    forms: await parseForms(applicationId),
    clientKeys: [javascriptKey, clientKey, dotnetKey, restApiKey],
    onFault: (err: unknown) => log.error({ err }, 'Live queries could not be told what has changed'),
  }
}

import packageJson from '../package.json' with { type: 'json' }
import { addressOf } from '../path-api/addresses.ts'
import type { Services } from '../path-api/operation/services.ts'
import { startPage } from '../path-api/pages/start-page.ts'
import { health } from '../path-api/resources/health.ts'
import type { PathApiOptions } from '../path-api/router.ts'
import type { Spend } from '../records/limits/rate-limits.ts'
import { Followings } from '../records/live/followings.ts'
import type { Tail } from '../records/live/tail.ts'
import type { Database } from '../records/store/documents/database.ts'
import { type OpenAccounts, openAccounts } from './accounts/open-accounts.ts'
import type { Config } from './config/config.ts'
import type { Connection } from './database/connection.ts'
import { type MailQueue, sendMailBy } from './mail/queue.ts'
import type { RecordServices } from './records.ts'
import type { Log } from './telemetry/log.ts'
import type { Metrics } from './telemetry/metrics.ts'

export interface PathFamilyParts {
  config: Config
  publicUrl: string
  log: Log
  metrics: Metrics
  database: Connection
  mails: MailQueue
  records: RecordServices['records']
  services: RecordServices['services']
  tail: Tail
  spend: Spend
  draining: () => boolean
}

export interface PathFamily {
  options: PathApiOptions
  /** None in the open test environment. */
  accounts?: OpenAccounts
  /** Ends what would not end by itself. */
  drain(): Promise<void>
  /** Waits for the work that goes on after answers. */
  close(): Promise<void>
}

/** What the path family stands on; Parse Server must have started. The open test environment has the probes and a page only. */
export async function openPathFamily(parts: PathFamilyParts): Promise<PathFamily> {
  const { config, database } = parts
  const readiness = async () => ({ service: !parts.draining(), database: await answers(database) })
  if (config.open) {
    const services = { readiness, publicUrl: parts.publicUrl, open: true } as Partial<Services> as Services
    const operations = [...startPage, ...health]
    return { options: { ...optionsOf(parts, services), operations, open: true }, ...NOTHING }
  }
  const { profiles, carePlans, ehrs, chats } = parts.services
  const accounts = await openAccounts({
    ...parts,
    sendMail: sendMailBy(parts.mails),
    belongings: [
      (session, mvUid) => profiles.forget(session, mvUid),
      (session, mvUid) => carePlans.participants.leave(session, mvUid),
      (session, mvUid) => ehrs.leave(session, mvUid),
      (session, mvUid) => chats.marks.forget(session, mvUid),
    ],
  })
  const { publicUrl, records, tail, log } = parts
  const changes = new Followings(records, tail, accounts.services.sessions, (err) =>
    log.error({ err }, 'Those who follow changes could not be looked after'),
  )
  const own = { readiness, publicUrl, open: false, addressOf, changes }
  const services = { ...own, ...parts.services, ...accounts.services }
  return {
    options: optionsOf(parts, services, accounts),
    accounts,
    drain: () => changes.end(),
    close: () => accounts.close(),
  }
}

const NOTHING = { drain: async () => {}, close: async () => {} }

function optionsOf(
  { config, publicUrl, log, database, spend }: PathFamilyParts,
  services: Services,
  accounts?: OpenAccounts,
): PathApiOptions {
  return {
    services,
    tokens: {
      authenticate: accounts?.authenticate ?? (async () => undefined),
      ownOrigins: [new URL(publicUrl).origin, ...(config.corsOrigins ?? [])],
      tokenFromQuery: config.tokenInQuery === 'accepted',
    },
    db: database.db,
    log,
    spend,
    corsOrigins: config.corsOrigins ?? [],
    version: packageJson.version,
    checking: !config.production,
  }
}

async function answers({ db }: Database): Promise<boolean> {
  try {
    await db.command({ ping: 1 }, { timeoutMS: 2_000 })
    return true
  } catch {
    return false
  }
}

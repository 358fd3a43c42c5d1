import type { Db } from 'mongodb'
import packageJson from '../package.json' with { type: 'json' }
import { health } from '../path-api/resources/health.ts'
import type { PathApiOptions } from '../path-api/router.ts'
import type { Services } from '../path-api/services.ts'
import type { Profiles } from '../records/profiles/profiles.ts'
import type { Config } from './config.ts'
import type { Log } from './log.ts'

export interface PathFamilyParts {
  config: Config
  publicUrl: string
  log: Log
  db: Db
  profiles: Profiles
  draining: () => boolean
}

/** What the path family gets from the service. */
export function pathFamily({
  config,
  publicUrl,
  log,
  db,
  profiles,
  draining,
}: PathFamilyParts): PathApiOptions {
  return {
    // The other operations join when the services that they stand on are opened here.
    services: {
      readiness: async () => ({ service: !draining(), database: await answers(db) }),
      profiles,
    } as Partial<Services> as Services,
    operations: health,
    tokens: {
      authenticate: async () => undefined,
      ownOrigins: [new URL(publicUrl).origin, ...(config.corsOrigins ?? [])],
      tokenFromQuery: config.tokenInQuery === 'accepted',
    },
    db,
    log,
    rateLimits: {
      address: config.addressRate,
      account: config.accountRate,
      guardedAddress: config.loginAttempts,
      guardedAccount: config.accountLoginAttempts,
      shared: config.instances === 'several',
    },
    corsOrigins: config.corsOrigins ?? [],
    version: packageJson.version,
    checking: !config.production,
  }
}

async function answers(db: Db): Promise<boolean> {
  try {
    await db.command({ ping: 1 }, { timeoutMS: 2_000 })
    return true
  } catch {
    return false
  }
}

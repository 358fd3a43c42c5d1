import type { ServerResponse } from 'node:http'
import type { Db } from 'mongodb'
import { type Allowance, type RateLimits, rateLimiter, type Spend } from '../../records/limits/rate-limits.ts'
import type { Config } from '../config/config.ts'

const limitsOf = (config: Config): RateLimits => ({
  address: config.addressRate,
  account: config.accountRate,
  guardedAddress: config.loginAttempts,
  guardedAccount: config.accountLoginAttempts,
  shared: config.instances === 'several',
})

/** The draft standard's headers RateLimit and RateLimit-Policy. */
function tell(answer: object, { policy, most, seconds, left, resetSeconds }: Allowance): void {
  const response = answer as ServerResponse
  response.setHeader('ratelimit-policy', `"${policy}";q=${most};w=${seconds}`)
  response.setHeader('ratelimit', `"${policy}";r=${left};t=${resetSeconds}`)
}

/** Rate limits that tell in an answer's headers how much is left. */
export const openRateLimits = (db: Db, limits: RateLimits): Promise<Spend> => rateLimiter(db, limits, tell)

export const configuredRateLimits = (db: Db, config: Config): Promise<Spend> =>
  openRateLimits(db, limitsOf(config))

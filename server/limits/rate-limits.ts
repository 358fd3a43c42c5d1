import type { ServerResponse } from 'node:http'
import type { Db } from 'mongodb'
import {
  createRateLimiter,
  type RateLimiter,
  type RateLimitStatus,
  type RateLimits,
} from '../../records/limits/rate-limiter.ts'
import type { Config } from '../config/config.ts'

const configuredLimits = (config: Config): RateLimits => ({
  address: config.addressRate,
  account: config.accountRate,
  guardedAddress: config.loginAttempts,
  guardedAccount: config.accountLoginAttempts,
  shared: config.instances === 'several',
})

/** Sets the headers RateLimit and RateLimit-Policy of the draft standard. */
function setRateLimitHeaders(
  answer: object,
  { policy, most, seconds, left, resetSeconds }: RateLimitStatus,
): void {
  const response = answer as ServerResponse
  response.setHeader('ratelimit-policy', `"${policy}";q=${most};w=${seconds}`)
  response.setHeader('ratelimit', `"${policy}";r=${left};t=${resetSeconds}`)
}

/** Opens rate limits that report the remaining quota in response headers. */
export const openRateLimits = (db: Db, limits: RateLimits): Promise<RateLimiter> =>
  createRateLimiter(db, limits, setRateLimitHeaders)

export const openConfiguredRateLimits = (db: Db, config: Config): Promise<RateLimiter> =>
  openRateLimits(db, configuredLimits(config))

import { createHash } from 'node:crypto'
import type { Db } from 'mongodb'
import { RateLimiterMemory, RateLimiterMongo, RateLimiterRes } from 'rate-limiter-flexible'
import { ServiceError } from '../../schemas/errors.ts'

/** Limits of requests. @see docs/decisions/rate-limits.md */
export interface RateLimits {
  /** Requests per minute from one address. */
  address: number
  /** Requests per minute of one account. */
  account: number
  /** Calls of one guarded operation (login, register, reset) per address in five minutes. */
  guardedAddress: number
  /** Calls of one guarded operation per account in five minutes, from all addresses. */
  guardedAccount: number
  /** Count all limits in the database, not only the guarding ones: several instances share them. */
  shared: boolean
}

type RateLimitPolicy = Exclude<keyof RateLimits, 'shared'> | 'mail'

/** Counts all mails to the person, regardless of who requests them. */
const MAX_MAILS_PER_PERSON_PER_HOUR = 5

/** The state of a limit, for the response headers. */
export interface RateLimitStatus {
  policy: RateLimitPolicy
  most: number
  seconds: number
  left: number
  /** Seconds until the full limit is available again. */
  resetSeconds: number
}

/**
 * Counts one or several requests against a policy.
 * @param answer the response that gets the rate-limit headers through `tell` of {@link createRateLimiter}
 * @throws TooManyRequests
 */
export type RateLimiter = (
  policy: RateLimitPolicy,
  key: string,
  answer?: object,
  requests?: number,
) => Promise<void>

const WINDOW_SECONDS: Record<RateLimitPolicy, number> = {
  address: 60,
  account: 60,
  guardedAddress: 300,
  guardedAccount: 300,
  mail: 3_600,
}

/** The limits against guessing are always counted in the database, so that they survive a restart. */
export async function createRateLimiter(
  db: Db,
  limits: RateLimits,
  tell: (answer: object, allowance: RateLimitStatus) => void = () => {},
): Promise<RateLimiter> {
  const most: Record<RateLimitPolicy, number> = { ...limits, mail: MAX_MAILS_PER_PERSON_PER_HOUR }
  const options = (policy: RateLimitPolicy) => ({
    keyPrefix: policy,
    points: most[policy],
    duration: WINDOW_SECONDS[policy],
  })
  const local = (policy: RateLimitPolicy) => new RateLimiterMemory(options(policy))
  /** If the database is unreachable, it counts in memory: neither open to guessing nor closed to everyone. */
  const common = (policy: RateLimitPolicy) =>
    new RateLimiterMongo({
      ...options(policy),
      storeClient: db,
      tableName: 'rate_limits',
      disableIndexesCreation: true,
      insuranceLimiter: local(policy),
      inMemoryBlockOnConsumed: most[policy] + 1,
    })
  const general = limits.shared ? common : local
  const guardedAccount = common('guardedAccount')
  await guardedAccount.createIndexes()
  const limiters = {
    address: general('address'),
    account: general('account'),
    guardedAddress: common('guardedAddress'),
    guardedAccount,
    mail: common('mail'),
  }
  return async (policy, key, answer, requests = 1) => {
    const { count, exceeded } = await limiters[policy].consume(key, requests).then(
      (result) => ({ count: result, exceeded: false }),
      (reason: unknown) => ({ count: reason, exceeded: true }),
    )
    if (!(count instanceof RateLimiterRes)) throw count
    const resetSeconds = Math.ceil(count.msBeforeNext / 1000)
    const limit = { policy, most: most[policy], seconds: WINDOW_SECONDS[policy] }
    if (answer) tell(answer, { ...limit, left: count.remainingPoints, resetSeconds })
    if (exceeded) throw new ServiceError('TooManyRequests', { retryAfter: resetSeconds })
  }
}

/** The counted part of an address: of IPv6 the /64 network, because one client has all of it. */
export function ipKey(address: string): string {
  if (!address.includes(':')) return address
  const ipv4Address = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (ipv4Address !== undefined) return ipv4Address
  const [head = '', tail] = address.split('::')
  const groups = head === '' ? [] : head.split(':')
  const zeros = tail === undefined ? 0 : 8 - groups.length - tail.split(':').length
  return [...groups, ...Array<string>(Math.max(zeros, 0)).fill('0')].slice(0, 4).join(':')
}

/** Hash of an account's name (such as an e-mail address), under which it is counted. */
export const hashedKey = (name: string): string =>
  createHash('sha256').update(name.trim().toLowerCase()).digest('base64url')

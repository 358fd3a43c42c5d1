import { createHash } from 'node:crypto'
import type { Db } from 'mongodb'
import { RateLimiterMemory, RateLimiterMongo, RateLimiterRes } from 'rate-limiter-flexible'
import { ServiceError } from '../../schemas/errors.ts'

/** How many requests are answered; see docs/decisions/rate-limits.md. */
export interface RateLimits {
  /** Requests a minute from one address. */
  address: number
  /** Requests a minute of one account. */
  account: number
  /** Calls of one guarded operation (login, register, reset, token) from one address in five minutes. */
  guardedAddress: number
  /** Calls of one guarded operation for one account in five minutes, from wherever they come. */
  guardedAccount: number
  /** Several instances share the work: every limit is counted in the database, not only the guarding ones. */
  shared: boolean
}

type Policy = Exclude<keyof RateLimits, 'shared'> | 'mail'

/** Mails to one person in an hour, whoever asks for them. */
const mailsToOne = 5

/** How many requests a policy grants, and how many of them are left. */
export interface Allowance {
  policy: Policy
  most: number
  seconds: number
  left: number
  /** Until all of them are granted again. */
  resetSeconds: number
}

/**
 * Counts a request against a policy, or several that came as one, and tells how much is left.
 * @param answer to what has been asked; whoever opened the limiter knows how to tell it
 * @throws TooManyRequests
 */
export type Spend = (policy: Policy, key: string, answer?: object, requests?: number) => Promise<void>

const seconds: Record<Policy, number> = {
  ...{ address: 60, account: 60, guardedAddress: 300, guardedAccount: 300 },
  mail: 3_600,
}

/** The limits that guard against guessing are always counted in the database: they outlive a restart. */
export async function rateLimiter(
  db: Db,
  limits: RateLimits,
  tell: (answer: object, allowance: Allowance) => void = () => {},
): Promise<Spend> {
  const most: Record<Policy, number> = { ...limits, mail: mailsToOne }
  const options = (policy: Policy) => ({
    keyPrefix: policy,
    points: most[policy],
    duration: seconds[policy],
  })
  const local = (policy: Policy) => new RateLimiterMemory(options(policy))
  /** Without its database a limiter goes on counting in memory: neither open to guessing nor closed to everyone. */
  const common = (policy: Policy) =>
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
      (spent) => ({ count: spent, exceeded: false }),
      (refused: unknown) => ({ count: refused, exceeded: true }),
    )
    if (!(count instanceof RateLimiterRes)) throw count
    const resetSeconds = Math.ceil(count.msBeforeNext / 1000)
    const about = { policy, most: most[policy], seconds: seconds[policy] }
    if (answer) tell(answer, { ...about, left: count.remainingPoints, resetSeconds })
    if (exceeded) throw new ServiceError('TooManyRequests', { retryAfter: resetSeconds })
  }
}

/** An address as it is counted: IPv6 by its /64 network, of which one client has all. */
export function counted(address: string): string {
  if (!address.includes(':')) return address
  const embedded = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (embedded !== undefined) return embedded
  const [head = '', tail] = address.split('::')
  const groups = head === '' ? [] : head.split(':')
  const zeros = tail === undefined ? 0 : 8 - groups.length - tail.split(':').length
  return [...groups, ...Array<string>(Math.max(zeros, 0)).fill('0')].slice(0, 4).join(':')
}

/** What an account is called (an e-mail address, say), as it is kept with its count. */
export const concealed = (name: string): string =>
  createHash('sha256').update(name.trim().toLowerCase()).digest('base64url')

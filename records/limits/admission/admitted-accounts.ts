import type { ServiceError } from '../../../schemas/errors.ts'
import type { LimitClock } from './clock.ts'
import { CONCURRENCY_LIMITS, ConcurrencyLimit } from './concurrency-limit.ts'
import { LongWork } from './long-work.ts'

/** How long an account counts as active after a request. */
const ACTIVITY_RETENTION_MS = 100
/** Idle accounts are forgotten when there are more accounts. */
const MAX_ACCOUNTS = 1_000

export interface WaitingRequest<A> {
  sinceMs: number
  isAbandoned(): boolean
  begin(admission: A): void
  refuse(error: ServiceError): void
}

/** The state of an account, or of an address without one, in the admission control. */
export interface AdmittedAccount<A> {
  limit: ConcurrencyLimit
  waiting: WaitingRequest<A>[]
  /** The total cost of its requests, for the order among accounts. */
  usedMs: number
  /** The average cost of one of its requests. */
  costMs: number
  work: LongWork
  /** Its running requests that have paused. */
  longRequests: number
  activeAtMs: number
}

export const isIdle = <A>({ limit, waiting }: AdmittedAccount<A>): boolean =>
  limit.running === 0 && waiting.length === 0

export class AdmittedAccounts<A> {
  readonly #clock: LimitClock
  readonly #accounts = new Map<string, AdmittedAccount<A>>()
  /** The account of the latest request, and that of the latest one of another account. */
  #latest: AdmittedAccount<A> | undefined
  #latestOther: AdmittedAccount<A> | undefined

  constructor(clock: LimitClock) {
    this.#clock = clock
  }

  find(name: string): AdmittedAccount<A> | undefined {
    return this.#accounts.get(name)
  }

  findOrCreate(name: string, initial: Pick<AdmittedAccount<A>, 'usedMs' | 'costMs'>): AdmittedAccount<A> {
    const existingAccount = this.#accounts.get(name)
    if (existingAccount) return existingAccount
    if (this.#accounts.size >= MAX_ACCOUNTS)
      for (const [other, account] of this.#accounts) if (isIdle(account)) this.#accounts.delete(other)
    const account = {
      ...initial,
      limit: new ConcurrencyLimit(CONCURRENCY_LIMITS.account),
      waiting: [],
      work: new LongWork(this.#clock),
      longRequests: 0,
      activeAtMs: Number.NEGATIVE_INFINITY,
    }
    this.#accounts.set(name, account)
    return account
  }

  noteActivity(account: AdmittedAccount<A>): void {
    account.activeAtMs = this.#clock.now()
    if (this.#latest === account) return
    this.#latestOther = this.#latest
    this.#latest = account
  }

  /** Whether another account has been active recently. */
  isOtherActive(account: AdmittedAccount<A>): boolean {
    const other = this.#latest === account ? this.#latestOther : this.#latest
    return other !== undefined && this.#clock.now() - other.activeAtMs < ACTIVITY_RETENTION_MS
  }
}

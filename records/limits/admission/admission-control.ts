import { ServiceError } from '../../../schemas/errors.ts'
import { type AdmittedAccount, AdmittedAccounts, isIdle } from './admitted-accounts.ts'
import { SYSTEM_CLOCK } from './clock.ts'
import { CONCURRENCY_LIMITS, ConcurrencyLimit } from './concurrency-limit.ts'
import { createRefusal, FairQueue, MAX_BURST_WAIT_MS } from './fair-queue.ts'

/** If a request fails after this time without a success, the database is probably unavailable. */
const OUTAGE_DETECTION_MS = 2_000

/** Weight of one request in the average of its account. */
const COST_WEIGHT = 0.1
/** Requests that cost more have mostly waited for something else. */
const MAX_COST_MS = 200

/**
 * Long requests of an account that may run while other accounts are active. Pauses share only the processor of this
 * service: the database would work for each of them in turn.
 */
const MAX_LONG_REQUESTS = 4

/** A request that runs. */
export interface Admission {
  /**
   * Interrupts long work after a step of it: others run, and other accounts get their share.
   * @param workMs duration of the step
   * @throws DeadlineExceeded when the request has failed meanwhile, so that nobody needs its work
   */
  pause(workMs: number): Promise<void>
  /**
   * Call it when the request has ended; further calls have no effect.
   * @param hasFailed whether the request timed out or the database failed
   */
  release(hasFailed?: boolean): void
}

/**
 * Bounds the requests under way, and shares the service fairly among accounts.
 * @see docs/decisions/admission-control.md
 */
export class AdmissionControl {
  readonly #clock
  readonly #limit = new ConcurrencyLimit(CONCURRENCY_LIMITS.all)
  readonly #accounts: AdmittedAccounts<Admission>
  readonly #queue: FairQueue<Admission>
  /** The usage of the account of the latest request: accounts that return continue from there. */
  #usedMs = 0
  /** Requests that have been admitted and not released. */
  #running = 0
  #succeededAtMs = 0

  constructor(clock = SYSTEM_CLOCK) {
    this.#clock = clock
    this.#accounts = new AdmittedAccounts(clock)
    this.#queue = new FairQueue(clock)
  }

  get running(): number {
    return this.#running
  }

  get waiting(): number {
    return this.#queue.length
  }

  /**
   * Waits until a request of the account may begin.
   * @param isAbandoned whether the client no longer waits for the response
   * @throws TooManyRequests when the account itself has too many requests under way; Unavailable when all together have
   */
  async admit(name: string, isAbandoned: () => boolean = () => false): Promise<Admission> {
    const initial = { usedMs: this.#usedMs, costMs: this.#limit.costMs }
    const account = this.#accounts.findOrCreate(name, initial)
    const refusal = this.#findRefusal(account)
    if (refusal) throw refusal
    if (isIdle(account)) account.usedMs = Math.max(account.usedMs, this.#usedMs)
    return new Promise((begin, refuse) => {
      this.#queue.add(account, { sinceMs: this.#clock.now(), isAbandoned, begin, refuse })
      this.#beginRequests()
    })
  }

  /**
   * Whether an overloaded service would refuse a request, before any work is done for it.
   * @returns undefined also for an account that is not known
   */
  findEarlyRefusal(name: string): ServiceError | undefined {
    const account = this.#queue.isLong ? this.#accounts.find(name) : undefined
    return account && this.#findRefusal(account)
  }

  #findRefusal(account: AdmittedAccount<Admission>): ServiceError | undefined {
    return this.#limit.isReached || !this.#mayBegin(account) ? this.#queue.findRefusal(account) : undefined
  }

  #mayBegin(account: AdmittedAccount<Admission>): boolean {
    if (account.limit.isReached) return false
    return account.longRequests < MAX_LONG_REQUESTS || !this.#isShared(account)
  }

  #beginRequests(): void {
    while (!this.#limit.isReached) {
      const next = this.#queue.takeNext((account) => this.#mayBegin(account))
      if (!next) return
      const { account, request } = next
      const waitedMs = this.#clock.now() - request.sinceMs
      if (request.isAbandoned() || waitedMs > MAX_BURST_WAIT_MS)
        request.refuse(createRefusal(account.limit.running > 0, waitedMs))
      else request.begin(this.#begin(account))
    }
  }

  #begin(account: AdmittedAccount<Admission>): Admission {
    this.#usedMs = account.usedMs
    const endCost = this.#startCost(account)
    const accountRequest = account.limit.begin(this.#clock.now())
    this.#running += 1
    this.#accounts.noteActivity(account)
    let state: 'running' | 'succeeded' | 'failed' = 'running'
    let isLong = false
    return {
      pause: async (workMs) => {
        // Pauses limit long work. It must not take the place of short requests.
        endCost(false)
        if (!isLong && state === 'running') {
          isLong = true
          account.longRequests += 1
        }
        account.usedMs += workMs
        this.#beginRequests()
        const pauseMs = account.work.pauseAfter(workMs, this.#isShared(account))
        await new Promise<void>((resume) => this.#clock.wakeAfter(pauseMs, resume))
        if (state === 'failed') throw new ServiceError('DeadlineExceeded')
      },
      release: (hasFailed = false) => {
        if (state !== 'running') return
        state = hasFailed ? 'failed' : 'succeeded'
        if (isLong) account.longRequests -= 1
        account.limit.end(accountRequest, this.#clock.now(), hasFailed)
        this.#running -= 1
        this.#accounts.noteActivity(account)
        endCost(hasFailed)
        if (hasFailed) this.#refuseDuringOutage()
        else this.#succeededAtMs = this.#clock.now()
        this.#beginRequests()
      },
    }
  }

  /**
   * Starts to measure what a request costs, and charges its account, at first with an estimate.
   * @returns a function that ends it; further calls have no effect
   */
  #startCost(account: AdmittedAccount<Admission>): (hasFailed: boolean) => void {
    const running = this.#limit.begin(this.#clock.now())
    const estimateMs = account.costMs
    account.usedMs += estimateMs
    let hasEnded = false
    return (hasFailed) => {
      if (hasEnded) return
      hasEnded = true
      const costMs = this.#limit.end(running, this.#clock.now(), hasFailed)
      account.usedMs += costMs - estimateMs
      if (!hasFailed) account.costMs += COST_WEIGHT * (Math.min(costMs, MAX_COST_MS) - account.costMs)
    }
  }

  /** Nothing has succeeded for a while: those who wait must not wait for the database again. */
  #refuseDuringOutage(): void {
    if (this.#clock.now() - this.#succeededAtMs >= OUTAGE_DETECTION_MS)
      this.#queue.refuseAll(createRefusal(false, 0))
  }

  /** Whether other accounts use the service, too. */
  #isShared(account: AdmittedAccount<Admission>): boolean {
    return this.#running > account.limit.running || this.#accounts.isOtherActive(account)
  }
}

import { ServiceError } from '../../../schemas/errors.ts'
import type { AdmittedAccount, WaitingRequest } from './admitted-accounts.ts'
import type { LimitClock } from './clock.ts'

/** The longest wait of requests that arrive together. Clients give up later. */
export const MAX_BURST_WAIT_MS = 30_000
/** Each request that waits takes memory. */
const MAX_LENGTH = 2_000
/** The number of requests that may always wait: as many as clients send that wait for each response. */
const MIN_LENGTH = 100
/**
 * A queue that lasts longer than a burst is kept short. That of a single account may last and be longer, because it
 * delays nobody else. Tests of a whole service shorten the first one.
 */
export const SHARED_QUEUE = { burstMs: 2_000, maxWaitMs: 350 }
const OWN_QUEUE = { burstMs: 10_000, maxWaitMs: 2_000 }

/** The requests that wait. The next one is of the account that has used the least (start-time fair queueing). */
export class FairQueue<A> {
  readonly #clock: LimitClock
  readonly #accounts = new Set<AdmittedAccount<A>>()
  /** Since when the queue has been longer than a standing one may be, but for short times. */
  #longSinceMs: number | undefined
  /** Since when it has been short. */
  #shortSinceMs: number | undefined

  constructor(clock: LimitClock) {
    this.#clock = clock
  }

  get length(): number {
    return [...this.#accounts].reduce((sum, { waiting }) => sum + waiting.length, 0)
  }

  get isLong(): boolean {
    return this.#longSinceMs !== undefined
  }

  add(account: AdmittedAccount<A>, request: WaitingRequest<A>): void {
    account.waiting.push(request)
    this.#accounts.add(account)
  }

  /** Takes the next request of an account that may begin one. */
  takeNext(
    mayBegin: (account: AdmittedAccount<A>) => boolean,
  ): { account: AdmittedAccount<A>; request: WaitingRequest<A> } | undefined {
    let account: AdmittedAccount<A> | undefined
    for (const one of this.#accounts)
      if (one.usedMs < (account?.usedMs ?? Number.POSITIVE_INFINITY) && mayBegin(one)) account = one
    const request = account?.waiting.shift()
    if (!account || !request) return undefined
    if (account.waiting.length === 0) this.#accounts.delete(account)
    if (this.#accounts.size === 0) this.#noteShort()
    return { account, request }
  }

  refuseAll(error: ServiceError): void {
    for (const { waiting } of this.#accounts) for (const { refuse } of waiting.splice(0)) refuse(error)
    this.#accounts.clear()
    this.#noteShort()
  }

  /** Why a request of the account cannot even wait. */
  findRefusal(account: AdmittedAccount<A>): ServiceError | undefined {
    const ownMs = (account.waiting.length + 1) * account.costMs
    // Each other account gets at most as much time before this request as its own one.
    let waitMs = ownMs
    let backlogMs = ownMs
    let length = account.waiting.length
    for (const other of this.#accounts) {
      if (other === account) continue
      length += other.waiting.length
      const otherMs = other.waiting.length * other.costMs
      waitMs += Math.min(ownMs, otherMs)
      backlogMs += otherMs
    }
    const isOwn = 2 * ownMs >= waitMs
    const { burstMs, maxWaitMs } = isOwn ? OWN_QUEUE : SHARED_QUEUE
    const isStanding = this.#measureLongMs(backlogMs) > burstMs
    if (length < MIN_LENGTH) return undefined
    const isTooLong = waitMs > (isStanding ? maxWaitMs : MAX_BURST_WAIT_MS)
    return isTooLong || length >= MAX_LENGTH ? createRefusal(isOwn, waitMs) : undefined
  }

  /** Measures for how long the queue has been longer than a standing one may be. */
  #measureLongMs(backlogMs: number): number {
    if (backlogMs > SHARED_QUEUE.maxWaitMs) this.#longSinceMs ??= this.#clock.now()
    // Refusals keep a standing queue just below that.
    if (backlogMs < SHARED_QUEUE.maxWaitMs / 2) this.#noteShort()
    else this.#shortSinceMs = undefined
    return this.#longSinceMs === undefined ? 0 : this.#clock.now() - this.#longSinceMs
  }

  /** After a short moment the overload continues. Only a queue that stays short may have another burst. */
  #noteShort(): void {
    this.#shortSinceMs ??= this.#clock.now()
    if (this.#clock.now() - this.#shortSinceMs >= SHARED_QUEUE.burstMs) this.#longSinceMs = undefined
  }
}

/** @param isOwn whether mostly the account's own requests make it wait */
export function createRefusal(isOwn: boolean, waitMs: number): ServiceError {
  const retryAfter = Math.max(1, Math.ceil(waitMs / 1000))
  return isOwn
    ? new ServiceError('TooManyRequests', {
        retryAfter,
        detail: 'Too many requests of the account are under way. Send fewer at a time.',
      })
    : new ServiceError('Unavailable', {
        retryAfter,
        detail: 'The service has more requests than it can answer. Try again later.',
      })
}

import type { Collection, Db } from 'mongodb'
import { ServiceError } from '../../../schemas/errors.ts'
import { DAY_MS } from '../../../schemas/time/durations.ts'
import { syncIndexes } from '../../store/documents/indexes.ts'
import { hashSecret } from '../user/secret.ts'

interface FailedLogins {
  /** Hash of the address. */
  _id: string
  count: number
  lockedUntil?: Date
  expiresAt: Date
}

/**
 * How long a name is locked. The response names no more exact time, to hide which addresses have
 * accounts.
 */
export const ACCOUNT_LOCKOUT_S = 300

export const accountLockedError = () => new ServiceError('AccountLocked', { retryAfter: ACCOUNT_LOCKOUT_S })

/**
 * Counts failed logins by address, and locks an address after too many. It counts alike for addresses without an account:
 * otherwise the lock would reveal which addresses have one. Parse Server counts for its accounts only.
 */
export class LoginLockout {
  readonly #failures: Collection<FailedLogins>
  readonly #threshold: number
  readonly #clock: () => Date

  /** @param threshold number of wrong passwords after which an address is locked */
  constructor(db: Db, threshold: number, clock: () => Date) {
    this.#failures = db.collection<FailedLogins>('auth.failed_logins')
    this.#threshold = threshold
    this.#clock = clock
  }

  async prepare(): Promise<void> {
    await syncIndexes(this.#failures, [{ key: { expiresAt: 1 }, name: 'expiry', expireAfterSeconds: 0 }])
  }

  async isLocked(email: string): Promise<boolean> {
    const locked = { _id: hashSecret(email), lockedUntil: { $gt: this.#clock() } }
    return (await this.#failures.findOne(locked)) !== null
  }

  /** Counts a failed login; the count ends a day after the last one. @throws AccountLocked */
  async recordFailure(email: string): Promise<void> {
    const now = this.#clock().getTime()
    const _id = hashSecret(email)
    const counter = await this.#failures.findOneAndUpdate(
      { _id },
      { $inc: { count: 1 }, $set: { expiresAt: new Date(now + DAY_MS) } },
      { upsert: true, returnDocument: 'after' },
    )
    const count = counter?.count ?? 1
    if (count < this.#threshold) return
    await this.#failures.updateOne(
      { _id },
      { $set: { lockedUntil: new Date(now + ACCOUNT_LOCKOUT_S * 1000) } },
    )
    if (count > this.#threshold) throw accountLockedError()
  }

  /** Forgets the failed logins after the right password, or a new one. */
  async clear(email: string): Promise<void> {
    await this.#failures.deleteOne({ _id: hashSecret(email) })
  }
}

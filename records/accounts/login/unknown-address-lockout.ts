import type { Collection, Db } from 'mongodb'
import { ServiceError } from '../../../schemas/errors.ts'
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
 * How long Parse Server locks an account. The response names no more exact time, to hide which addresses have
 * accounts.
 */
export const ACCOUNT_LOCKOUT_S = 300
const DAY_MS = 24 * 3_600_000

export const accountLockedError = () => new ServiceError('AccountLocked', { retryAfter: ACCOUNT_LOCKOUT_S })

/**
 * Locks an address without an account just as Parse Server locks an account. Otherwise the lock would reveal
 * which addresses have accounts.
 */
export class UnknownAddressLockout {
  readonly #failures: Collection<FailedLogins>
  readonly #threshold: number
  readonly #clock: () => Date

  /** @param threshold number of wrong passwords after which an account is locked */
  constructor(db: Db, threshold: number, clock: () => Date) {
    this.#failures = db.collection<FailedLogins>('auth.failed_logins')
    this.#threshold = threshold
    this.#clock = clock
  }

  async prepare(): Promise<void> {
    await syncIndexes(this.#failures, [{ key: { expiresAt: 1 }, name: 'expiry', expireAfterSeconds: 0 }])
  }

  /** Counts a failed login. @throws AccountLocked */
  async recordFailure(email: string): Promise<void> {
    const now = this.#clock().getTime()
    const _id = hashSecret(email)
    const lockout = await this.#failures.findOne({ _id })
    if (lockout?.lockedUntil && lockout.lockedUntil.getTime() > now) throw accountLockedError()
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
}

import type { Collection, Db } from 'mongodb'
import { ServiceError } from '../../../schemas/errors.ts'
import { makeIndexes } from '../../store/documents/indexes.ts'
import { hashOf } from '../user/secret.ts'

interface FailedLogins {
  /** Hash of the address. */
  _id: string
  count: number
  lockedUntil?: Date
  expiresAt: Date
}

/** How long Parse Server locks an account; the answer says no more exact time, whether there is one or not. */
export const lockoutSeconds = 300
const day = 24 * 3_600_000

export const accountLocked = () => new ServiceError('AccountLocked', { retryAfter: lockoutSeconds })

/**
 * Locks an address that has no account just as Parse Server locks one that has: otherwise the lock would tell who
 * has an account.
 */
export class UnknownAddresses {
  readonly #failures: Collection<FailedLogins>
  readonly #threshold: number
  readonly #clock: () => Date

  /** @param threshold wrong passwords after which an account is locked */
  constructor(db: Db, threshold: number, clock: () => Date) {
    this.#failures = db.collection<FailedLogins>('auth.failed_logins')
    this.#threshold = threshold
    this.#clock = clock
  }

  async prepare(): Promise<void> {
    await makeIndexes(this.#failures, [{ key: { expiresAt: 1 }, name: 'expiry', expireAfterSeconds: 0 }])
  }

  /** Counts a login that failed. @throws AccountLocked */
  async failed(email: string): Promise<void> {
    const now = this.#clock().getTime()
    const _id = hashOf(email)
    const known = await this.#failures.findOne({ _id })
    if (known?.lockedUntil && known.lockedUntil.getTime() > now) throw accountLocked()
    const counted = await this.#failures.findOneAndUpdate(
      { _id },
      { $inc: { count: 1 }, $set: { expiresAt: new Date(now + day) } },
      { upsert: true, returnDocument: 'after' },
    )
    const count = counted?.count ?? 1
    if (count < this.#threshold) return
    await this.#failures.updateOne({ _id }, { $set: { lockedUntil: new Date(now + lockoutSeconds * 1000) } })
    if (count > this.#threshold) throw accountLocked()
  }
}

import type { Collection, Db } from 'mongodb'
import { DAY_MS } from '../../../schemas/time/durations.ts'
import { syncIndexes } from '../../store/documents/indexes.ts'
import { hashSecret } from '../user/secret.ts'
import { ACTIVATION_PERIOD_DAYS } from './unactivated-accounts.ts'

interface RepeatedRegistration {
  /** Hash of the address. */
  _id: string
  expiresAt: Date
}

/**
 * Addresses that were registered again before the activation, perhaps by somebody else. The activation then asks
 * for the password: otherwise the last one to register would choose it for the person who follows the link.
 */
export class RepeatedRegistrations {
  readonly #addresses: Collection<RepeatedRegistration>
  readonly #clock: () => Date

  constructor(db: Db, clock: () => Date) {
    this.#addresses = db.collection<RepeatedRegistration>('auth.repeated_registrations')
    this.#clock = clock
  }

  async prepare(): Promise<void> {
    await syncIndexes(this.#addresses, [{ key: { expiresAt: 1 }, name: 'expiry', expireAfterSeconds: 0 }])
  }

  async record(email: string): Promise<void> {
    const expiresAt = new Date(this.#clock().getTime() + ACTIVATION_PERIOD_DAYS * DAY_MS)
    await this.#addresses.updateOne({ _id: hashSecret(email) }, { $set: { expiresAt } }, { upsert: true })
  }

  async has(email: string): Promise<boolean> {
    return (await this.#addresses.findOne({ _id: hashSecret(email) })) !== null
  }
}

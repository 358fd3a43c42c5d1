import type { ClientSession, Collection, Db } from 'mongodb'
import { ServiceError } from '../../schemas/errors.ts'
import { isDuplicate } from '../store/documents/database.ts'
import { makeIndexes } from '../store/documents/indexes.ts'
import { hashOf, newSecret } from './user/secret.ts'
import { usersOf } from './user/user.ts'

/** An address that takes the place of an account's once it is confirmed; one at a time for each account. */
interface EmailChange {
  /** The account. */
  _id: string
  email: string
  tokenHash: string
  expiresAt: Date
}

const validForMs = 24 * 3_600_000

/** New addresses on their way: none counts before the link that was mailed to it is followed. */
export class EmailChanges {
  readonly #db: Db
  readonly #changes: Collection<EmailChange>
  readonly #clock: () => Date

  constructor(db: Db, clock: () => Date) {
    this.#db = db
    this.#changes = emailChangesOf(db)
    this.#clock = clock
  }

  async prepare(): Promise<void> {
    await makeIndexes(this.#changes, [
      { key: { expiresAt: 1 }, name: 'expiry', expireAfterSeconds: 0 },
      { key: { tokenHash: 1 }, name: 'token' },
    ])
  }

  /** @returns the token for the link; the one before is void */
  async begin(mvUid: string, email: string): Promise<string> {
    const token = newSecret()
    const expiresAt = new Date(this.#clock().getTime() + validForMs)
    const change = { email, tokenHash: hashOf(token), expiresAt }
    await this.#changes.replaceOne({ _id: mvUid }, change, { upsert: true })
    return token
  }

  async cancel(mvUid: string, session?: ClientSession): Promise<void> {
    await this.#changes.deleteOne({ _id: mvUid }, session ? { session } : {})
  }

  /** The addresses that wait, by account. */
  async pending(mvUids: readonly string[]): Promise<Map<string, string>> {
    const found = await this.#changes
      .find({ _id: { $in: [...mvUids] }, expiresAt: { $gt: this.#clock() } })
      .toArray()
    return new Map(found.map(({ _id, email }) => [_id, email]))
  }

  /** Whether a link still works. */
  async isValid(token: string): Promise<boolean> {
    const valid = { tokenHash: hashOf(token), expiresAt: { $gt: this.#clock() } }
    return (await this.#changes.findOne(valid)) !== null
  }

  /**
   * Makes the new address the account's.
   * @returns the account and the address it had; undefined when the token is expired, used or unknown
   * @throws Conflict when somebody else has the address by now
   */
  async confirm(token: string): Promise<{ mvUid: string; formerEmail: string } | undefined> {
    const now = this.#clock()
    const change = await this.#changes.findOneAndDelete({
      tokenHash: hashOf(token),
      expiresAt: { $gt: now },
    })
    const user = change && (await usersOf(this.#db).findOne({ _id: change._id }))
    if (!user) return undefined
    const { email } = change
    // Who signed up in the class family may have a name of another kind, and keeps it.
    const username = user.username === user.email ? email : user.username
    try {
      await usersOf(this.#db).updateOne(
        { _id: user._id },
        {
          $set: { email, username, emailVerified: true, _updated_at: now },
          $inc: { version: 1 },
          // What was mailed to the former address opens nothing any more.
          $unset: { _perishable_token: '', _perishable_token_expires_at: '' },
        },
      )
    } catch (error) {
      if (!isDuplicate(error)) throw error
      throw new ServiceError('Conflict', { detail: 'The address now belongs to another account.' })
    }
    return { mvUid: user._id, formerEmail: user.email }
  }
}

export const emailChangesOf = (db: Db): Collection<EmailChange> =>
  db.collection<EmailChange>('auth.email_changes')

import type { ClientSession, Collection, Db } from 'mongodb'
import { ServiceError } from '../../schemas/errors.ts'
import { requireNoViolations } from '../ehr-records/refusals/refusals.ts'
import { isDuplicateKeyError } from '../store/documents/database.ts'
import { syncIndexes } from '../store/documents/indexes.ts'
import { identityLinksOf } from './login/identities.ts'
import { activatedFields, mustAgreeToTerms, termsViolations, VERIFICATION_TOKEN } from './user/activation.ts'
import { hashSecret, newSecret } from './user/secret.ts'
import { usersOf } from './user/user.ts'

/**
 * A pending address, which replaces the account's address once it is confirmed; at most one for each account.
 */
interface EmailChange {
  /** Id of the account. */
  _id: string
  email: string
  tokenHash: string
  expiresAt: Date
}

/** The version of the published terms, if there are any, and whether the person agrees to them. */
interface TermsAgreement {
  termsVersion: string | undefined
  termsAccepted: boolean | undefined
}

const EMAIL_CHANGE_TTL_MS = 24 * 3_600_000

/** Pending addresses: a new address takes effect when its owner follows the link mailed to it. */
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
    await syncIndexes(this.#changes, [
      { key: { expiresAt: 1 }, name: 'expiry', expireAfterSeconds: 0 },
      { key: { tokenHash: 1 }, name: 'token' },
    ])
  }

  /** @returns the token for the link; voids the previous one */
  async begin(mvUid: string, email: string): Promise<string> {
    const token = newSecret()
    const expiresAt = new Date(this.#clock().getTime() + EMAIL_CHANGE_TTL_MS)
    const change = { email, tokenHash: hashSecret(token), expiresAt }
    await this.#changes.replaceOne({ _id: mvUid }, change, { upsert: true })
    return token
  }

  async cancel(mvUid: string, session?: ClientSession): Promise<void> {
    await this.#changes.deleteOne({ _id: mvUid }, session ? { session } : {})
  }

  /** The pending addresses by account. */
  async findPending(mvUids: readonly string[]): Promise<Map<string, string>> {
    const change = await this.#changes
      .find({ _id: { $in: [...mvUids] }, expiresAt: { $gt: this.#clock() } })
      .toArray()
    return new Map(change.map(({ _id, email }) => [_id, email]))
  }

  /** Whether the link is still valid. */
  async isValid(token: string): Promise<boolean> {
    const valid = { tokenHash: hashSecret(token), expiresAt: { $gt: this.#clock() } }
    return (await this.#changes.findOne(valid)) !== null
  }

  /**
   * Makes the new address the account's address, and activates an account that waits for its activation.
   * @returns the account and its former address; undefined when the token is expired, used or unknown
   * @throws Conflict when another account has the address by now; RuleViolated without agreement to the terms: the link then
   * stays valid
   */
  async confirm(
    token: string,
    { termsVersion, termsAccepted }: TermsAgreement,
  ): Promise<{ mvUid: string; formerEmail: string } | undefined> {
    const now = this.#clock()
    const valid = { tokenHash: hashSecret(token), expiresAt: { $gt: now } }
    const change = await this.#changes.findOne(valid)
    const user = change && (await usersOf(this.#db).findOne({ _id: change._id }))
    if (!user) return undefined
    const mustAgree = mustAgreeToTerms(user)
    requireNoViolations(mustAgree ? termsViolations(termsVersion, termsAccepted) : [])
    const { deletedCount } = await this.#changes.deleteOne(valid)
    if (deletedCount === 0) return undefined
    const { email } = change
    // An account of the class family may have a username other than its address, and keeps it.
    const username = user.username === user.email ? email : user.username
    const activation = activatedFields(user, { termsVersion: mustAgree ? termsVersion : undefined, now })
    try {
      await usersOf(this.#db).updateOne(
        { _id: user._id },
        {
          $set: { email, username, ...activation },
          $inc: { version: 1 },
          // Voids the links that were mailed to the former address.
          $unset: { ...VERIFICATION_TOKEN, _perishable_token: '', _perishable_token_expires_at: '' },
        },
      )
    } catch (error) {
      if (!isDuplicateKeyError(error)) throw error
      throw new ServiceError('Conflict', { detail: 'Another account has this address by now.' })
    }
    // An external identity was linked by the former address.
    await identityLinksOf(this.#db).deleteMany({ mvUid: user._id })
    return { mvUid: user._id, formerEmail: user.email }
  }
}

export const emailChangesOf = (db: Db): Collection<EmailChange> =>
  db.collection<EmailChange>('auth.email_changes')

import type { ClientSession, Collection, Db } from 'mongodb'
import { ServiceError } from '../../schemas/errors.ts'
import { DAY_MS } from '../../schemas/time/durations.ts'
import { requireNoViolations } from '../ehr-records/refusals/refusals.ts'
import { isDuplicateKeyError } from '../store/documents/database.ts'
import { syncIndexes } from '../store/documents/indexes.ts'
import type { Identities } from './login/identities.ts'
import { activatedFields, mustAgreeToTerms, termsViolations, VERIFICATION_TOKEN } from './user/activation.ts'
import { hashSecret, newSecret } from './user/secret.ts'
import { type User, usersOf } from './user/user.ts'

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

const EMAIL_CHANGE_TTL_MS = DAY_MS

/** Pending addresses: a new address takes effect when its owner follows the link mailed to it. */
export class EmailChanges {
  readonly #db: Db
  readonly #changes: Collection<EmailChange>
  readonly #identities: Pick<Identities, 'unlinkAll'>
  readonly #clock: () => Date

  constructor(db: Db, identities: Pick<Identities, 'unlinkAll'>, clock: () => Date) {
    this.#db = db
    this.#identities = identities
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

  cancel(mvUid: string, session?: ClientSession): Promise<void> {
    return cancelEmailChange(this.#db, mvUid, session)
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
    return (await this.#changes.findOne(this.#validFilter(token))) !== null
  }

  #validFilter(token: string) {
    return { tokenHash: hashSecret(token), expiresAt: { $gt: this.#clock() } }
  }

  /**
   * Makes the new address the account's address, and activates an account that waits for its activation. Unlinks its
   * external identities, which were linked by the former address, and ends their sessions.
   * @returns the account and its former address; undefined when the token is expired, used or unknown
   * @throws Conflict when another account has the address by now; RuleViolated without agreement to the terms: the link then
   * stays valid; LinkExpired when another request has used or voided it meanwhile
   */
  async confirm(
    token: string,
    agreement: TermsAgreement,
  ): Promise<{ mvUid: string; formerEmail: string } | undefined> {
    const valid = this.#validFilter(token)
    const change = await this.#changes.findOne(valid)
    if (!change) return undefined
    const { _id: mvUid, email } = change
    let formerEmail = ''
    const replaceEmail = async (session: ClientSession) => {
      const { deletedCount } = await this.#changes.deleteOne(valid, { session })
      const user = await usersOf(this.#db).findOne({ _id: mvUid }, { session })
      if (!user || deletedCount === 0) throw new ServiceError('LinkExpired')
      formerEmail = user.email
      await this.#replaceEmail(user, email, agreement, session)
    }
    try {
      await this.#identities.unlinkAll(mvUid, { change: replaceEmail })
      return { mvUid, formerEmail }
    } catch (error) {
      if (!isDuplicateKeyError(error)) throw error
      await this.#changes.deleteOne(valid)
      throw new ServiceError('Conflict', { detail: 'Another account has this address by now.' })
    }
  }

  async #replaceEmail(
    user: User,
    email: string,
    { termsVersion, termsAccepted }: TermsAgreement,
    session: ClientSession,
  ): Promise<void> {
    const mustAgree = mustAgreeToTerms(user)
    requireNoViolations(mustAgree ? termsViolations(termsVersion, termsAccepted) : [])
    const agreement = { termsVersion: mustAgree ? termsVersion : undefined, now: this.#clock() }
    // An account of the class family may have a username other than its address, and keeps it.
    const username = user.username === user.email ? email : user.username
    await usersOf(this.#db).updateOne(
      { _id: user._id },
      {
        $set: { email, username, ...activatedFields(user, agreement) },
        $inc: { version: 1 },
        // Voids the links that were mailed to the former address.
        $unset: { ...VERIFICATION_TOKEN, _perishable_token: '', _perishable_token_expires_at: '' },
      },
      { session },
    )
  }
}

/** Voids the link to a pending address of an account. */
export async function cancelEmailChange(db: Db, mvUid: string, session?: ClientSession): Promise<void> {
  await emailChangesOf(db).deleteOne({ _id: mvUid }, session ? { session } : {})
}

export const emailChangesOf = (db: Db): Collection<EmailChange> =>
  db.collection<EmailChange>('auth.email_changes')

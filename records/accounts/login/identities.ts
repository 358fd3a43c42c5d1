import type { Collection, Db } from 'mongodb'
import { ServiceError } from '../../../schemas/errors.ts'
import { isDuplicateKeyError } from '../../store/documents/database.ts'
import { syncIndexes } from '../../store/documents/indexes.ts'
import { accountStateOf, usersOf } from '../user/user.ts'

/** An identity that an OpenID Connect provider has verified. */
export interface ExternalIdentity {
  issuer: string
  subject: string
  /** Verified by the provider, in lower case. */
  email: string
}

/**
 * The configured OpenID Connect provider. Both methods throw IdentityRefused for an invalid response,
 * NotFound when no provider is configured, and Unavailable while the provider does not answer.
 */
export interface IdentityProvider {
  fromCode(answer: {
    code: string
    redirectUri: string
    codeVerifier?: string | undefined
  }): Promise<ExternalIdentity>
  fromIdToken(idToken: string, nonce: string | undefined): Promise<ExternalIdentity>
}

interface LinkedIdentity {
  /** Issuer and subject, the only values that never change for a person at a provider. */
  _id: string
  mvUid: string
  linkedAt: Date
}

/** The links between external identities and accounts. See docs/decisions/external-identities.md. */
export class Identities {
  readonly #db: Db
  readonly #links: Collection<LinkedIdentity>
  readonly #clock: () => Date

  constructor(db: Db, clock: () => Date) {
    this.#db = db
    this.#links = identityLinksOf(db)
    this.#clock = clock
  }

  async prepare(): Promise<void> {
    await syncIndexes(this.#links, [{ key: { mvUid: 1 }, name: 'account' }])
  }

  /**
   * Finds the account of an identity. At the first login this is the activated account with the identity's
   * address. Never creates an account.
   * @throws AccountNotFound
   */
  async findAccount({ issuer, subject, email }: ExternalIdentity): Promise<string> {
    const _id = `${issuer} ${subject}`
    const link = await this.#links.findOne({ _id })
    const users = usersOf(this.#db)
    const user = await users.findOne(link ? { _id: link.mvUid } : { email })
    if (!user || accountStateOf(user) !== 'ACTIVE') throw new ServiceError('AccountNotFound')
    if (!link) await this.#link({ _id, mvUid: user._id, linkedAt: this.#clock() })
    return user._id
  }

  /** If two first logins run at once, the second finds the link that the first one created. */
  async #link(link: LinkedIdentity): Promise<void> {
    try {
      await this.#links.insertOne(link)
    } catch (error) {
      if (!isDuplicateKeyError(error)) throw error
    }
  }
}

export const identityLinksOf = (db: Db): Collection<LinkedIdentity> =>
  db.collection<LinkedIdentity>('auth.identities')

import type { Collection, Db } from 'mongodb'
import { ServiceError } from '../../../schemas/errors.ts'
import { isDuplicate } from '../../store/documents/database.ts'
import { makeIndexes } from '../../store/documents/indexes.ts'
import { stateOf, usersOf } from '../user/user.ts'

/** Who an OpenID Connect provider says someone is, verified. */
export interface ExternalIdentity {
  issuer: string
  subject: string
  /** Verified by the provider, in lower case. */
  email: string
}

/**
 * The OpenID Connect provider that the service is configured with.
 * Both ways throw IdentityRefused for what does not hold, NotFound when no provider is configured, and Unavailable
 * while it does not answer.
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
  /** Issuer and subject: nothing else of a person stays the same at a provider. */
  _id: string
  mvUid: string
  linkedAt: Date
}

/** Which external identity belongs to which account. See docs/decisions/external-identities.md. */
export class Identities {
  readonly #db: Db
  readonly #links: Collection<LinkedIdentity>
  readonly #clock: () => Date

  constructor(db: Db, clock: () => Date) {
    this.#db = db
    this.#links = linksOf(db)
    this.#clock = clock
  }

  async prepare(): Promise<void> {
    await makeIndexes(this.#links, [{ key: { mvUid: 1 }, name: 'account' }])
  }

  /**
   * The account of an identity; the first time the one whose activated address is that of the identity. Never
   * makes an account.
   * @throws AccountNotFound
   */
  async accountOf({ issuer, subject, email }: ExternalIdentity): Promise<string> {
    const _id = `${issuer} ${subject}`
    const link = await this.#links.findOne({ _id })
    const users = usersOf(this.#db)
    const user = await users.findOne(link ? { _id: link.mvUid } : { email })
    if (!user || stateOf(user) !== 'ACTIVE') throw new ServiceError('AccountNotFound')
    if (!link) await this.#link({ _id, mvUid: user._id, linkedAt: this.#clock() })
    return user._id
  }

  /** Two first logins at once: the second finds the link of the first. */
  async #link(link: LinkedIdentity): Promise<void> {
    try {
      await this.#links.insertOne(link)
    } catch (error) {
      if (!isDuplicate(error)) throw error
    }
  }
}

export const linksOf = (db: Db): Collection<LinkedIdentity> =>
  db.collection<LinkedIdentity>('auth.identities')

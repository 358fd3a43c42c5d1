import type { ClientSession, Collection, Db } from 'mongodb'
import type { LinkedIdentity } from '../../../schemas/accounts/login.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import { isDuplicateKeyError } from '../../store/documents/database.ts'
import { syncIndexes } from '../../store/documents/indexes.ts'
import { decodeCursor } from '../../store/reading/cursor.ts'
import { createPage, type PageRequest } from '../../store/reading/pages.ts'
import { runStoreTransaction, type StoreContext, type Transaction } from '../../store/writing/transaction.ts'
import type { SendMail } from '../user/mails.ts'
import { hashSecret } from '../user/secret.ts'
import {
  ACCOUNT_STATE_FILTERS,
  accountStateOf,
  findActiveUser,
  lockAccount,
  type User,
  usersOf,
} from '../user/user.ts'
import type { Sessions } from './sessions.ts'

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
    codeVerifier: string
    nonce: string
  }): Promise<ExternalIdentity>
  fromIdToken(idToken: string, nonce: string | undefined): Promise<ExternalIdentity>
}

interface IdentityLink {
  /** Issuer and subject, the only values that never change for a person at a provider. */
  _id: string
  mvUid: string
  issuer: string
  linkedAt: Date
}

const IDENTITY_LIST = 'identities'

/** The links between external identities and accounts. See docs/decisions/external-identities.md. */
export class Identities {
  readonly #context: StoreContext
  readonly #links: Collection<IdentityLink>
  readonly #sessions: Pick<Sessions, 'endOfIdentities'>
  readonly #sendMail: SendMail
  readonly #clock: () => Date

  constructor(
    context: StoreContext,
    sessions: Pick<Sessions, 'endOfIdentities'>,
    sendMail: SendMail,
    clock: () => Date,
  ) {
    this.#context = context
    this.#sessions = sessions
    this.#links = identityLinksOf(context.db)
    this.#sendMail = sendMail
    this.#clock = clock
  }

  async prepare(): Promise<void> {
    await this.#upgradeLinks()
    await syncIndexes(this.#links, [{ key: { mvUid: 1, issuer: 1 }, name: 'account_issuer', unique: true }])
  }

  /**
   * Finds the account of an identity. At the first login this is the activated account with the identity's
   * address, unless that has another identity of the issuer. Never creates an account.
   * @throws AccountNotFound
   */
  async findAccount({ issuer, subject, email }: ExternalIdentity): Promise<string> {
    const _id = linkIdOf({ issuer, subject })
    const link = await this.#links.findOne({ _id })
    const user = await usersOf(this.#context.db).findOne(link ? { _id: link.mvUid } : { email })
    if (!user || accountStateOf(user) !== 'ACTIVE') throw new ServiceError('AccountNotFound')
    if (!link) await this.#link({ _id, issuer, mvUid: user._id, linkedAt: this.#clock() }, user)
    return user._id
  }

  /** Whether an identity belongs to an active account. */
  async isLinked(identity: ExternalIdentity, mvUid: string): Promise<boolean> {
    const [link, user] = await Promise.all([
      this.#links.findOne({ _id: linkIdOf(identity), mvUid }),
      findActiveUser(this.#context.db, mvUid),
    ])
    return link !== null && user !== null
  }

  /** Lists the identities of an account. @throws MalformedRequest for a cursor of another list */
  async list(mvUid: string, { limit, cursor, count }: PageRequest) {
    const after = cursor === undefined ? '' : decodeCursor(IDENTITY_LIST, cursor).id
    // An account has one identity for each issuer, so there are few.
    const links = await this.#links.find({ mvUid }).toArray()
    const items = links.map(toLinkedIdentity).sort((a, b) => (a.id < b.id ? -1 : 1))
    const beyond = items.filter(({ id }) => id > after)
    const total = count ? items.length : undefined
    return createPage(IDENTITY_LIST, beyond, limit, ({ id }) => ({ value: null, id }), total)
  }

  /**
   * Unlinks an identity, and ends the sessions that identities began, except one.
   * @returns whether there was such an identity
   */
  async unlink(mvUid: string, id: string, keptSid: string): Promise<boolean> {
    const links = await this.#links.find({ mvUid }).toArray()
    const link = links.find((one) => toLinkedIdentity(one).id === id)
    if (!link) return false
    return this.#endLinks({ _id: link._id, mvUid }, { keptSid })
  }

  /**
   * Unlinks all identities of an account in the transaction of a change of it, and ends the sessions that they began,
   * except a kept one. A first login at the same time links its identity before, or finds the changed account.
   */
  async unlinkAll(
    mvUid: string,
    { change, keptSid }: { change?: (session: ClientSession) => Promise<void>; keptSid?: string } = {},
  ): Promise<void> {
    await this.#endLinks(
      { mvUid },
      {
        keptSid,
        change: async (tx) => {
          await lockAccount(this.#context, tx, mvUid)
          await change?.(tx.session)
        },
      },
    )
  }

  /** @returns whether there were such links */
  async #endLinks(
    links: Pick<IdentityLink, 'mvUid'> & Partial<IdentityLink>,
    { change, keptSid }: { change?: (tx: Transaction) => Promise<void>; keptSid: string | undefined },
  ): Promise<boolean> {
    const { mvUid } = links
    const isLinked = await runStoreTransaction(this.#context, async (tx) => {
      const { session } = tx
      await change?.(tx)
      const { deletedCount } = await this.#links.deleteMany(links, { session })
      await this.#sessions.endOfIdentities(mvUid, keptSid, session)
      return deletedCount > 0
    })
    // A login may have begun meanwhile, and found its link.
    await this.#sessions.endOfIdentities(mvUid, keptSid)
    return isLinked
  }

  /**
   * Links an identity and mails its owner. If two first logins run at once, the second finds the link of the
   * first.
   * @throws AccountNotFound when the account has another identity of the issuer, or another address or state by now
   */
  async #link(link: IdentityLink, { email, language }: User): Promise<void> {
    const { _id, mvUid, issuer } = link
    const mail = { to: { mvUid }, template: 'identity-linked', language, data: { issuer } } as const
    try {
      await runStoreTransaction(this.#context, async (tx) => {
        const { session } = tx
        await lockAccount(this.#context, tx, mvUid)
        const user = await usersOf(this.#context.db).findOne(
          { _id: mvUid, email, ...ACCOUNT_STATE_FILTERS.ACTIVE },
          { session },
        )
        if (!user) throw new ServiceError('AccountNotFound')
        await this.#links.insertOne(link, { session })
        await this.#sendMail(mail, session)
      })
    } catch (error) {
      if (!isDuplicateKeyError(error)) throw error
      if (!(await this.#links.findOne({ _id, mvUid }))) throw new ServiceError('AccountNotFound')
    }
  }

  /** Links of version 0.2 do not name their issuer. Of several for one issuer, the first one stays. */
  async #upgradeLinks(): Promise<void> {
    const older = this.#links.find({ issuer: { $exists: false } }).sort({ linkedAt: 1 })
    for await (const { _id, mvUid } of older) {
      const [issuer = ''] = _id.split(' ')
      if (await this.#links.findOne({ mvUid, issuer })) await this.#links.deleteOne({ _id })
      else await this.#links.updateOne({ _id }, { $set: { issuer } })
    }
  }
}

const linkIdOf = ({ issuer, subject }: Omit<ExternalIdentity, 'email'>): string => `${issuer} ${subject}`

/** The id hides the subject, which is a personal number at the provider. */
const toLinkedIdentity = ({ _id, issuer, linkedAt }: IdentityLink): LinkedIdentity => ({
  id: hashSecret(_id),
  issuer,
  linkedAt: linkedAt.toISOString(),
})

export const identityLinksOf = (db: Db): Collection<IdentityLink> =>
  db.collection<IdentityLink>('auth.identities')

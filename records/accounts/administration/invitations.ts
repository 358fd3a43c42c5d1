import type { AccountCreate } from '../../../schemas/account.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import { setRole } from '../../ehrs/rights/roles.ts'
import { type Database, together } from '../../store/documents/database.ts'
import type { Accounts, Versioned } from '../accounts.ts'
import type { Credentials } from '../user/credentials.ts'
import type { Links, SendMail } from '../user/mails.ts'
import { newSecret } from '../user/secret.ts'
import { stateOf, usersOf } from '../user/user.ts'

export interface InvitationParts {
  database: Database
  credentials: Credentials
  accounts: Accounts
  sendMail: SendMail
  links: Links
}

/** Days for which an invitation is good. */
export const invitationDays = 7

/** How administrators make accounts for others. */
export class Invitations {
  readonly #parts: InvitationParts

  constructor(parts: InvitationParts) {
    this.#parts = parts
  }

  /** Makes an account for someone, who chooses the password. @throws Conflict when the address is taken */
  async create({ email, name, roles = [], invite = true }: AccountCreate): Promise<Versioned> {
    const { credentials, database, accounts } = this.#parts
    const mvUid = await credentials.signUp({
      ...{ email: email.toLowerCase(), name, password: newSecret() },
      invited: true,
    })
    if (roles.length > 0)
      await together(database, async (session) => {
        for (const role of roles) await setRole(database, session, mvUid, role, true)
      })
    if (invite) await this.invite(mvUid, undefined)
    return accounts.get(mvUid)
  }

  /** Mails a link to choose a password. @throws NotFound; Conflict when the account is not waiting for one */
  async invite(mvUid: string, message: string | undefined): Promise<void> {
    const { sendMail, links } = this.#parts
    const { email, language, agreed, token } = await this.tokenFor(mvUid)
    const link = links.password(token, language, agreed)
    await sendMail({ to: email, template: 'invitation', language, data: { link, message: message ?? '' } })
  }

  /** What a link to choose a password is made of; the one before is void. @throws as `invite` */
  async tokenFor(mvUid: string) {
    const { credentials, database } = this.#parts
    const user = await usersOf(database.db).findOne({ _id: mvUid })
    if (!user) throw new ServiceError('NotFound')
    if (stateOf(user) !== 'ACTIVATION_PENDING') {
      throw new ServiceError('Conflict', { detail: 'The account is not waiting for an activation.' })
    }
    const { email, language, termsVersion } = user
    if (user.invitedAt)
      await usersOf(database.db).updateOne({ _id: mvUid }, { $set: { invitedAt: new Date() } })
    const token = await credentials.passwordToken(email, invitationDays)
    return { email, language, agreed: termsVersion !== undefined, token }
  }
}

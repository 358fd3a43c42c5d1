import type { AccountCreate } from '../../../schemas/accounts/account.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import { setRole } from '../../ehrs/rights/roles.ts'
import { type Database, runTransaction } from '../../store/documents/database.ts'
import type { Accounts, VersionedAccount } from '../accounts.ts'
import { convertToInvited } from '../user/activation.ts'
import type { Credentials } from '../user/credentials.ts'
import type { MailLinks, SendMail } from '../user/mails.ts'
import { newSecret } from '../user/secret.ts'
import { toLowerCaseLogin } from '../user/user.ts'

export interface InvitationDependencies {
  database: Database
  credentials: Credentials
  accounts: Accounts
  sendMail: SendMail
  links: MailLinks
}

/** Days for which an invitation is valid. */
export const INVITATION_TTL_DAYS = 7

/** Accounts that administrators create for others. */
export class Invitations {
  readonly #parts: InvitationDependencies

  constructor(parts: InvitationDependencies) {
    this.#parts = parts
  }

  /** Creates an account; its owner chooses the password. @throws Conflict when the address is taken */
  async create({ email, name, roles = [], invite = true }: AccountCreate): Promise<VersionedAccount> {
    const { credentials, database, accounts } = this.#parts
    const mvUid = await credentials.signUp({
      email: toLowerCaseLogin(email),
      name,
      password: newSecret(),
      invited: true,
    })
    if (roles.length > 0)
      await runTransaction(database, async (session) => {
        for (const role of roles) await setRole(database, session, mvUid, role, true)
      })
    if (invite) await this.invite(mvUid, undefined)
    return accounts.get(mvUid)
  }

  /**
   * Mails a link for choosing a password.
   * @param isCounted whether the sender has counted the mail for the limit of its reader
   * @throws NotFound; Conflict when the account already has one
   */
  async invite(mvUid: string, message: string | undefined, isCounted = false): Promise<void> {
    const { sendMail, links } = this.#parts
    const { email, language, agreed, token } = await this.createLinkToken(mvUid)
    const link = links.password(token, language, agreed)
    const data = { link, message: message ?? '' }
    const counted = isCounted && { counted: true as const }
    await sendMail({ to: email, template: 'invitation', language, ...counted, data })
  }

  /**
   * Creates the token of a link for choosing a password, and voids the links and the password that the account had.
   * @throws as `invite`
   */
  async createLinkToken(mvUid: string) {
    const { credentials, database, accounts } = this.#parts
    const user = await convertToInvited(database.db, mvUid, new Date())
    if (!user) {
      await accounts.get(mvUid)
      throw new ServiceError('Conflict', {
        detail: 'Only an account that waits for its activation can be invited.',
      })
    }
    const { email, language, termsVersion } = user
    const token = await credentials.createPasswordToken(email, INVITATION_TTL_DAYS)
    return { email, language, agreed: termsVersion !== undefined, token }
  }
}

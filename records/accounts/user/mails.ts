import type { ClientSession } from 'mongodb'

/** The mails that are not Parse Server's own, with the values that their templates name. */
interface Mails {
  'account-exists': Record<never, never>
  'confirm-address': { link: string }
  'address-changed': { newEmail: string }
  invitation: { link: string; message: string }
  participation: Record<never, never>
  chat: Record<never, never>
  'pending-ehr': Record<never, never>
}

/** Keeps a mail until it is sent; resolves as soon as it is kept: within a transaction, if and when that is committed. */
export type SendMail = <Name extends keyof Mails>(
  mail: {
    /** An address; or a user, if there is one, whose address and language are looked up when the mail is sent. */
    to: string | { mvUid: string }
    template: Name
    language: string | undefined
    data: Mails[Name]
  },
  session?: ClientSession,
) => Promise<void>

/** The pages of ours that mailed links lead to. */
export interface Links {
  /** @param agreed whether the terms have been agreed to: else the page asks */
  activation(token: string, language: string | undefined, agreed: boolean): string
  /** @param agreed the same */
  password(token: string, language: string | undefined, agreed: boolean): string
}

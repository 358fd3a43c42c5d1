import type { ClientSession } from 'mongodb'

/** The mails that Parse Server does not send itself, with the values of their templates. */
interface MailData {
  'account-exists': Record<never, never>
  'confirm-address': { link: string }
  'address-changed': { newEmail: string }
  'identity-linked': { issuer: string }
  invitation: { link: string; message: string }
  participation: Record<never, never>
  chat: Record<never, never>
  alert: Record<never, never>
  handover: Record<never, never>
  'helper-invitation': Record<never, never>
  'pending-ehr': Record<never, never>
}

/** Queues a mail; resolves once it is stored. Within a transaction, the commit decides whether it is sent. */
export type SendMail = <Name extends keyof MailData>(
  mail: {
    /** An address, or a user whose address and language are looked up when the mail is sent. */
    to: string | { mvUid: string }
    template: Name
    language: string | undefined
    /** Whether the sender has counted the mail for the limit of its reader. */
    counted?: true
    data: MailData[Name]
  },
  session?: ClientSession,
) => Promise<void>

/** URLs of our own pages, for links in mails. */
export interface MailLinks {
  /** @param hasAgreed whether the person has agreed to the terms; otherwise the page asks */
  activation(token: string, language: string | undefined, hasAgreed: boolean): string
  /** @param hasAgreed as for activation */
  password(token: string, language: string | undefined, hasAgreed: boolean): string
}

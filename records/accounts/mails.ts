/** The mails of accounts that are not Parse Server's own, with the values that their templates name. */
interface AccountMails {
  'account-exists': Record<never, never>
  'confirm-address': { link: string }
  'address-changed': { newEmail: string }
  invitation: { link: string; message: string }
}

/** Keeps a mail until it is sent; resolves as soon as it is kept. */
export type SendMail = <Name extends keyof AccountMails>(mail: {
  to: string
  template: Name
  language: string | undefined
  data: AccountMails[Name]
}) => Promise<void>

/** The pages of ours that mailed links lead to. */
export interface Links {
  activation(token: string, language: string | undefined): string
  /** @param invited whether the one who chooses has to agree to the terms */
  password(token: string, language: string | undefined, invited: boolean): string
}

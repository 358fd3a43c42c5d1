import accountExists from './templates/account-exists.json' with { type: 'json' }
import addressChanged from './templates/address-changed.json' with { type: 'json' }
import chat from './templates/chat.json' with { type: 'json' }
import confirmAddress from './templates/confirm-address.json' with { type: 'json' }
import invitation from './templates/invitation.json' with { type: 'json' }
import participation from './templates/participation.json' with { type: 'json' }
import pendingEhr from './templates/pending-ehr.json' with { type: 'json' }
import resetPassword from './templates/reset-password.json' with { type: 'json' }
import verifyEmail from './templates/verify-email.json' with { type: 'json' }

/** How the service calls itself in its mails. */
export const appName = 'Health Record Service'

/** The words of a mail in one language; `{{name}}` stands for a value. A link stands between before and after. */
export interface Template {
  subject: string
  before: string[]
  /** The words on the link to `{{link}}`. */
  action?: string
  after: string[]
}

/** Every mail that the service sends, each in every language. English stands in for a language that is not here. */
export const templates = {
  'account-exists': accountExists,
  'address-changed': addressChanged,
  chat,
  'confirm-address': confirmAddress,
  invitation,
  participation,
  'pending-ehr': pendingEhr,
  'reset-password': resetPassword,
  'verify-email': verifyEmail,
} satisfies Record<string, Record<'en' | 'nl', Template>>

export type TemplateName = keyof typeof templates

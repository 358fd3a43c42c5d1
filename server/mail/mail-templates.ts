import { SERVICE_NAMES } from '../../schemas/text/service-name.ts'
import accountExists from './templates/account-exists.json' with { type: 'json' }
import addressChanged from './templates/address-changed.json' with { type: 'json' }
import alert from './templates/alert.json' with { type: 'json' }
import chat from './templates/chat.json' with { type: 'json' }
import confirmAddress from './templates/confirm-address.json' with { type: 'json' }
import handover from './templates/handover.json' with { type: 'json' }
import helperInvitation from './templates/helper-invitation.json' with { type: 'json' }
import identityLinked from './templates/identity-linked.json' with { type: 'json' }
import invitation from './templates/invitation.json' with { type: 'json' }
import participation from './templates/participation.json' with { type: 'json' }
import pendingEhr from './templates/pending-ehr.json' with { type: 'json' }
import resetPassword from './templates/reset-password.json' with { type: 'json' }
import verifyEmail from './templates/verify-email.json' with { type: 'json' }

/** The name of the service in a language; English replaces a missing one. */
export const serviceNameIn = (language: string | undefined): string =>
  SERVICE_NAMES[/^nl\b/i.test(language ?? '') ? 'nl' : 'en']

/**
 * Text of a mail in one language; `{{name}}` is replaced by a value. The link is between `before` and
 * `after`.
 */
export interface MailTemplate {
  subject: string
  before: string[]
  /** Text of the link. */
  action?: string
  /** URL of the link, by default `{{link}}`. Without a value the mail has no link. */
  link?: string
  after: string[]
}

/** All mails of the service in each language; English replaces a missing language. */
export const mailTemplates = {
  'account-exists': accountExists,
  'address-changed': addressChanged,
  alert,
  handover,
  chat,
  'confirm-address': confirmAddress,
  'helper-invitation': helperInvitation,
  'identity-linked': identityLinked,
  invitation,
  participation,
  'pending-ehr': pendingEhr,
  'reset-password': resetPassword,
  'verify-email': verifyEmail,
} satisfies Record<string, Record<'en' | 'nl', MailTemplate>>

export type TemplateName = keyof typeof mailTemplates

import { Type } from '@sinclair/typebox'
import { accountLanguage, accountName, chatMails } from './account.ts'
import { id, moment } from './common.ts'

/** What an account holds beyond what Parse gives it. */
export const UserFields = Type.Object(
  {
    ehrId: Type.Optional(id('the EHR that came with the account; gone when that EHR is deleted')),
    name: Type.Optional(accountName),
    language: Type.Optional(accountLanguage),
    chatMails: Type.Optional(chatMails),
    termsVersion: Type.Optional(Type.String({ description: 'Version of the terms of service agreed to' })),
    termsAcceptedAt: Type.Optional(moment('When they were agreed to')),
    invitedAt: Type.Optional(
      moment('When an administrator made the account; it is activated by choosing a password'),
    ),
    activatedAt: Type.Optional(moment('When the account became active for the first time')),
    version: Type.Optional(Type.Integer({ description: 'Counts the changes, from 1' })),
  },
  { $id: 'UserFields', additionalProperties: false, description: 'Own properties of an account' },
)

/** Only the service sets these. */
export const SERVICE_USER_FIELDS = [
  'ehrId',
  'termsVersion',
  'termsAcceptedAt',
  'invitedAt',
  'activatedAt',
  'version',
] as const satisfies (keyof typeof UserFields.properties)[]

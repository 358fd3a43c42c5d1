import { Type } from '@sinclair/typebox'
import { dateObjectField, idField } from '../common.ts'
import { accountLanguageField, accountNameField, chatMailsField } from './account.ts'

/** Properties of an account beyond those of a Parse user. */
export const UserFields = Type.Object(
  {
    ehrId: Type.Optional(idField('the EHR that came with the account; absent after that EHR is deleted')),
    name: Type.Optional(accountNameField),
    language: Type.Optional(accountLanguageField),
    chatMails: Type.Optional(chatMailsField),
    termsVersion: Type.Optional(Type.String({ description: 'Version of the accepted terms of service' })),
    termsAcceptedAt: Type.Optional(dateObjectField('Time of acceptance of the terms')),
    invitedAt: Type.Optional(
      dateObjectField('Time at which an administrator created the account; choosing a password activates it'),
    ),
    activatedAt: Type.Optional(dateObjectField('Time of the first activation')),
    version: Type.Optional(
      Type.Integer({ description: 'Version number, from 1; each change increments it' }),
    ),
  },
  {
    $id: 'UserFields',
    additionalProperties: false,
    description: 'Properties of an account beyond those of a Parse user',
  },
)

/** Fields that only the service sets. */
export const SERVICE_USER_FIELDS = [
  'ehrId',
  'termsVersion',
  'termsAcceptedAt',
  'invitedAt',
  'activatedAt',
  'version',
] as const satisfies (keyof typeof UserFields.properties)[]

import { type Static, Type } from '@sinclair/typebox'
import { closedObject, displayedNameField, LANGUAGE_TAG, MULTI_LINE, NAME_RULES } from '../common.ts'
import { AccountRoleEnum, AccountStateEnum } from '../enums.ts'

/**
 * ASCII only, so that no two addresses look alike and lower case is unambiguous. See
 * docs/decisions/addresses.md.
 */
export const emailField = (description = 'E-mail address') =>
  Type.String({ format: 'email', maxLength: 254, description, examples: ['anna@example.org'] })

/** In characters as a reader counts them: an emoji is one. */
export const MIN_PASSWORD_LENGTH = 10
/** In UTF-8; bcrypt ignores all later bytes. */
export const MAX_PASSWORD_BYTES = 72

/** The password policy reports each violation with a 422. */
export const newPasswordField = Type.String({
  minLength: 1,
  maxLength: 1000,
  documented: { minLength: MIN_PASSWORD_LENGTH, maxLength: MAX_PASSWORD_BYTES },
  description: `New password: at least ${MIN_PASSWORD_LENGTH} characters, at most ${MAX_PASSWORD_BYTES} bytes in UTF-8, without the e-mail address`,
  examples: ['correct horse battery staple'],
})

export const currentPasswordField = Type.String({
  minLength: 1,
  maxLength: 1000,
  description: 'Current password',
  examples: ['correct horse battery staple'],
})

export const userIdField = Type.String({ description: 'User id', examples: ['n4Fq2LxT0a'] })

export const accountNameField = displayedNameField('Name of the person', 'Anna de Vries')

export const accountLanguageField = Type.String({
  ...LANGUAGE_TAG,
  description: 'Language tag for mails (RFC 3066): `nl` for Dutch; any other tag gets English',
  examples: ['nl'],
})

const nullableStringField = (rules: object, description: string, example: string) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], ...rules, description, examples: [example] })

const nullableNameField = nullableStringField(NAME_RULES, 'Name of the person, or null', 'Anna de Vries')
const nullableLanguageField = nullableStringField(
  LANGUAGE_TAG,
  'Language tag for mails (RFC 3066), or null',
  'nl',
)
const rolesField = Type.Array(AccountRoleEnum, { uniqueItems: true, maxItems: 10, description: 'Roles' })
const accountTimeField = (description: string) =>
  Type.String({ format: 'date-time', description, examples: ['2026-03-01T08:30:00Z'] })

export const chatMailsField = Type.Boolean({
  default: true,
  description: 'True to mail a reminder when messages stay unread for an hour',
})

export const Account = closedObject('Account', 'An account, valid in both families', {
  mvUid: userIdField,
  email: emailField(),
  state: AccountStateEnum,
  name: nullableNameField,
  language: nullableLanguageField,
  chatMails: chatMailsField,
  roles: rolesField,
  pendingEmail: nullableStringField(
    { format: 'email' },
    'New address, which replaces `email` once it is confirmed; null if none is waiting',
    'anna@example.net',
  ),
  termsVersion: nullableStringField(
    {},
    'Version of the accepted terms of service; null if none were accepted',
    '1',
  ),
  termsAcceptedAt: nullableStringField(
    { format: 'date-time' },
    'Time of acceptance of the terms, or null',
    '2026-03-01T08:30:00Z',
  ),
  createdAt: accountTimeField('Time of creation'),
  updatedAt: accountTimeField('Time of the last update'),
})
export type Account = Static<typeof Account>

export const AccountUpdate = closedObject('AccountUpdate', 'The changes; omitted fields keep their values', {
  email: Type.Optional(emailField('New address; takes effect when the link mailed to it is opened')),
  name: Type.Optional(nullableNameField),
  language: Type.Optional(nullableLanguageField),
  chatMails: Type.Optional(chatMailsField),
  roles: Type.Optional(rolesField),
  currentPassword: Type.Optional({
    ...currentPasswordField,
    description: 'Current password; required for a new address unless the login is less than 10 minutes old',
  }),
  disabled: Type.Optional(
    Type.Boolean({
      description:
        'True to disable the account: no login is possible and all sessions end. Only administrators set this',
      examples: [false],
    }),
  ),
})
export type AccountUpdate = Static<typeof AccountUpdate>

export const AccountCreate = closedObject('AccountCreate', 'An account that an administrator creates', {
  email: emailField(),
  name: accountNameField,
  roles: Type.Optional(rolesField),
  invite: Type.Optional(
    Type.Boolean({ default: true, description: 'True to mail a link for choosing a password' }),
  ),
})
export type AccountCreate = Static<typeof AccountCreate>

const optionalListField = (item: ReturnType<typeof emailField>, description: string) =>
  Type.Optional(Type.Array(item, { maxItems: 100, description }))

export const AccountsQuery = closedObject('AccountsQuery', 'Ids or addresses of the accounts to load', {
  mvUids: optionalListField(userIdField, 'User ids'),
  emails: optionalListField(emailField(), 'E-mail addresses'),
})

export const AccountsResult = closedObject(
  'AccountsResult',
  'The requested accounts that the caller may see',
  {
    items: Type.Array(Account, { description: 'The accounts' }),
  },
)

export const Registration = closedObject('Registration', 'A registration', {
  email: emailField(),
  password: newPasswordField,
  termsAccepted: Type.Optional(
    Type.Boolean({
      description: 'Acceptance of the terms of service: must be true if the operator has published terms',
      examples: [true],
    }),
  ),
  name: Type.Optional(accountNameField),
  language: Type.Optional(accountLanguageField),
})
export type Registration = Static<typeof Registration>

export const RegistrationResult = closedObject(
  'Registered',
  'The response to every registration, whether or not the address has an account',
  {
    email: emailField(),
    state: Type.Literal('ACTIVATION_PENDING', {
      description: 'State of the account; a mail explains the next step',
      examples: ['ACTIVATION_PENDING'],
    }),
  },
)

export const ActivationResult = closedObject('Activated', 'An account after its link was opened', {
  mvUid: userIdField,
  email: emailField(),
  state: AccountStateEnum,
})

export const EmailOnlyBody = closedObject('AddressOnly', 'Recipient of the mail', { email: emailField() })

export const linkTokenField = Type.String({
  minLength: 1,
  maxLength: 200,
  description: 'Token from the mailed link',
  examples: ['oLrVmzMXbd6u8kPqYHtTn3wJc'],
})

const termsAcceptedField = Type.Optional(
  Type.Boolean({
    description:
      'Acceptance of the terms of service; required if the operator has published terms, unless given when the account was created',
    examples: [true],
  }),
)

export const ActivationByToken = closedObject('ActivationByToken', 'Token from a mailed link', {
  token: linkTokenField,
  termsAccepted: termsAcceptedField,
  password: Type.Optional({
    ...currentPasswordField,
    description: 'Password of the registration; required if the address has been registered more than once',
  }),
})

export const PasswordReset = closedObject('PasswordByToken', 'A new password, authorised by a mailed link', {
  token: linkTokenField,
  newPassword: newPasswordField,
  termsAccepted: termsAcceptedField,
})

export const PasswordChange = closedObject(
  'PasswordChange',
  'A new password, authorised by the current one',
  {
    currentPassword: currentPasswordField,
    newPassword: newPasswordField,
  },
)

export const Invitation = closedObject('Invitation', 'Content of the invitation mail', {
  message: Type.Optional(
    Type.String({
      ...MULTI_LINE,
      maxLength: 2000,
      description: 'Personal message added to the mail',
      examples: ['Welcome to our clinic.'],
    }),
  ),
})

export const AccountRemoval = closedObject(
  'AccountRemoval',
  'Proof that the request comes from the account holder',
  {
    currentPassword: Type.Optional(currentPasswordField),
  },
)

import { type Static, Type } from '@sinclair/typebox'
import { closed } from './common.ts'
import { AccountRoleEnum, AccountStateEnum } from './enum.ts'

/** ASCII only: no two addresses look alike, and lower case has one meaning. See docs/decisions/addresses.md. */
export const emailAddress = (description = 'E-mail address') =>
  Type.String({ format: 'email', maxLength: 254, description, examples: ['anna@example.org'] })

/** What is wrong with it, the policy says: each fault by name, as a 422. */
const newPassword = Type.String({
  minLength: 1,
  maxLength: 1000,
  description: 'At least 10 characters, at most 72 bytes in UTF-8, without the e-mail address',
  examples: ['correct horse battery staple'],
})

export const password = Type.String({
  minLength: 1,
  maxLength: 1000,
  description: 'The current password',
  examples: ['correct horse battery staple'],
})

export const mvUid = Type.String({ description: 'User id', examples: ['n4Fq2LxT0a'] })

/** Goes into mails: no line breaks, nothing invisible. */
const nameRules = {
  ...{ minLength: 1, maxLength: 200, pattern: '^[^\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]+$' },
  inWords: 'without line breaks, control and formatting characters',
}
const languageRules = { pattern: '^[A-Za-z]{2,3}(-[A-Za-z]{2})?$' }

export const accountName = Type.String({
  ...nameRules,
  description: 'Name of the person',
  examples: ['Anna de Vries'],
})

export const accountLanguage = Type.String({
  ...languageRules,
  description: 'Language of the mails, RFC 3066: Dutch (`nl`), for any other English',
  examples: ['nl'],
})

const orNull = (rules: object, description: string, example: string) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], ...rules, description, examples: [example] })

const nullableName = orNull(nameRules, 'Name of the person, or null', 'Anna de Vries')
const nullableLanguage = orNull(languageRules, 'Language of the mails, RFC 3066, or null', 'nl')
const roles = Type.Array(AccountRoleEnum, { uniqueItems: true, maxItems: 10, description: 'Roles' })
const time = (description: string) =>
  Type.String({ format: 'date-time', description, examples: ['2026-03-01T08:30:00Z'] })

export const chatMails = Type.Boolean({
  default: true,
  description: 'Whether to mail when messages have not been read for an hour',
})

export const Account = closed('Account', 'An account; it serves both families', {
  mvUid,
  email: emailAddress(),
  state: AccountStateEnum,
  name: nullableName,
  language: nullableLanguage,
  chatMails,
  roles,
  pendingEmail: orNull(
    { format: 'email' },
    'The address that replaces `email` once it is confirmed, or null',
    'anna@example.net',
  ),
  termsVersion: orNull({}, 'Version of the terms of service that were agreed to, or null', '1'),
  termsAcceptedAt: orNull(
    { format: 'date-time' },
    'When they were agreed to, or null',
    '2026-03-01T08:30:00Z',
  ),
  createdAt: time('Time of creation'),
  updatedAt: time('Time of the last update'),
})
export type Account = Static<typeof Account>

export const AccountUpdate = closed('AccountUpdate', 'The changes; what is left out stays as it is', {
  email: Type.Optional(emailAddress('New address; it counts once the link that is mailed to it is followed')),
  name: Type.Optional(nullableName),
  language: Type.Optional(nullableLanguage),
  chatMails: Type.Optional(chatMails),
  roles: Type.Optional(roles),
  currentPassword: Type.Optional({
    ...password,
    description:
      'The current password; a new address needs it, unless the login was less than 10 minutes ago',
  }),
  disabled: Type.Optional(
    Type.Boolean({
      description: 'Whether the account is disabled: no login, and all sessions end; set by administrators',
      examples: [false],
    }),
  ),
})
export type AccountUpdate = Static<typeof AccountUpdate>

export const AccountCreate = closed('AccountCreate', 'An account that an administrator creates', {
  email: emailAddress(),
  name: accountName,
  roles: Type.Optional(roles),
  invite: Type.Optional(
    Type.Boolean({ default: true, description: 'Whether to mail a link to choose a password' }),
  ),
})
export type AccountCreate = Static<typeof AccountCreate>

const several = (item: ReturnType<typeof emailAddress>, description: string) =>
  Type.Optional(Type.Array(item, { maxItems: 100, description }))

export const AccountsWanted = closed('AccountsWanted', 'Which accounts to load, by id or address', {
  mvUids: several(mvUid, 'User ids'),
  emails: several(emailAddress(), 'E-mail addresses'),
})

export const AccountsFound = closed(
  'AccountsFound',
  'Those of the requested accounts that the caller may see',
  {
    items: Type.Array(Account, { description: 'The accounts' }),
  },
)

export const Registration = closed('Registration', 'A registration', {
  email: emailAddress(),
  password: newPassword,
  termsAccepted: Type.Optional(
    Type.Boolean({ description: 'Agreement to the terms of service: must be true', examples: [true] }),
  ),
  name: Type.Optional(accountName),
  language: Type.Optional(accountLanguage),
})
export type Registration = Static<typeof Registration>

export const Registered = closed('Registered', 'The answer to every registration', {
  email: emailAddress(),
  state: Type.Literal('ACTIVATION_PENDING', {
    description: 'A mail explains what to do next',
    examples: ['ACTIVATION_PENDING'],
  }),
})

export const Activated = closed('Activated', 'An account after its link was followed', {
  mvUid,
  email: emailAddress(),
  state: AccountStateEnum,
})

export const Address = closed('AddressOnly', 'The address to mail to', { email: emailAddress() })

export const linkToken = Type.String({
  minLength: 1,
  maxLength: 200,
  description: 'The token in the mailed link',
  examples: ['oLrVmzMXbd6u8kPqYHtTn3wJc'],
})

const termsAtLast = Type.Optional(
  Type.Boolean({
    description:
      'Agreement to the terms of service: required unless it was given when the account was created',
    examples: [true],
  }),
)

export const ActivationByToken = closed('ActivationByToken', 'The token of a mailed link', {
  token: linkToken,
  termsAccepted: termsAtLast,
})

export const PasswordByToken = closed('PasswordByToken', 'A new password, by the mailed link', {
  token: linkToken,
  newPassword,
  termsAccepted: termsAtLast,
})

export const PasswordChange = closed('PasswordChange', 'A new password, by the present one', {
  currentPassword: password,
  newPassword,
})

export const Invitation = closed('Invitation', 'What the invitation says', {
  message: Type.Optional(
    Type.String({
      maxLength: 2000,
      description: 'Text that is added to the mail',
      examples: ['Welcome to our clinic.'],
    }),
  ),
})

export const AccountRemoval = closed('AccountRemoval', 'Proof that the request comes from the person', {
  password: Type.Optional(password),
})

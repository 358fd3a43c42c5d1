import { Type } from '@sinclair/typebox'
import { closedObject } from '../common.ts'
import {
  AccountUpdate,
  accountLanguageField,
  accountNameField,
  currentPasswordField,
  emailField,
  newPasswordField,
} from './account.ts'

/** Bodies of the account requests of the class family. */

const { name, language, chatMails } = AccountUpdate.properties
const usernameField = Type.String({
  minLength: 1,
  maxLength: 254,
  format: 'line',
  description: 'Name of the user; one with @ must be the address of the account',
  examples: ['anna@example.org'],
})
const signUpEmailField = emailField('E-mail address, which receives an activation mail')
const currentPassword = Type.Optional({
  ...currentPasswordField,
  description: 'Current password; not needed within 10 minutes of the login',
})

/** Open, as in Parse: clients also log in with the body of the sign-up. */
export const ClassLogin = Type.Object(
  {
    username: Type.Optional(usernameField),
    email: Type.Optional(emailField('E-mail address, in place of the user name')),
    password: currentPasswordField,
  },
  {
    $id: 'ClassLogin',
    description:
      'User name or address, and password; other properties are ignored, because clients also send the body of the sign-up',
    additionalProperties: true,
  },
)

export const ClassSignUp = closedObject('ClassSignUp', 'A new user', {
  username: usernameField,
  password: newPasswordField,
  email: signUpEmailField,
  termsAccepted: Type.Optional(
    Type.Boolean({
      description: 'Acceptance of the terms of service; if omitted, the activation page asks for it',
      examples: [true],
    }),
  ),
  name: Type.Optional(accountNameField),
  language: Type.Optional(accountLanguageField),
})

export const ClassAccountChange = closedObject(
  'ClassAccountChange',
  'Fields of your own account to change; a new address needs the link mailed to it',
  {
    username: Type.Optional(usernameField),
    password: Type.Optional(newPasswordField),
    email: Type.Optional(emailField('New address; takes effect when the link mailed to it is opened')),
    name,
    language,
    chatMails,
    currentPassword,
  },
)

/** The name and the address are the ones that hold: a new address is pending until it is confirmed. */
export const ClassAccountChanged = closedObject('ClassAccountChanged', 'The account after the change', {
  username: usernameField,
  email: emailField(
    'Confirmed address; a new one replaces it once the link mailed to the new address is opened',
  ),
  updatedAt: Type.String({ format: 'date-time', description: 'Time of the last update' }),
})

export const ClassAccountProof = closedObject(
  'ClassAccountProof',
  'Proof that the request comes from the account holder',
  { currentPassword },
)

export const ClassAddress = closedObject('ClassAddress', 'Recipient of the mail', { email: emailField() })

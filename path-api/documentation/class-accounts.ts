import { Type } from '@sinclair/typebox'
import { closed } from '../../schemas/common.ts'
import { UserFields } from '../../schemas/user.ts'
import { byKeys, Created, type OperationObject, Removed, Updated } from './class-parts.ts'
import type { Json } from './schema-collector.ts'

const email = Type.String({
  format: 'email',
  description: 'Address; an activation mail goes there',
  examples: ['anna@example.org'],
})
const username = Type.String({ description: 'Name of the user', examples: ['anna@example.org'] })
const password = Type.String({ description: 'Password', examples: ['correct horse battery 9'] })
const sessionToken = Type.String({
  description: 'For the header X-Parse-Session-Token',
  examples: ['r:6a8f0c2e4b1d4e8f9a7c5b3d1f0e2c4a'],
})
const objectId = Type.String({ description: 'User id', examples: ['n4Fq2LxT0a'] })

const Credentials = closed('ClassLogin', 'A name and its password', { username, password })
const SignUp = closed('ClassSignUp', 'A new user', {
  ...{ username, password, email },
  termsAccepted: Type.Optional(
    Type.Boolean({
      description: 'Agreement to the terms of service; left out, the activation asks',
      examples: [true],
    }),
  ),
})
const OpenSignUp = closed('OpenSignUp', 'A new user', {
  ...{ username, password, email: Type.Optional(email) },
})
const currentPassword = Type.Optional(
  Type.String({
    description: 'The current password; not needed within 10 minutes of the login',
    examples: ['correct horse battery 9'],
  }),
)
const AccountChange = closed('ClassAccountChange', 'What is to change of the own account', {
  ...Type.Partial(Type.Object({ username, password, email })).properties,
  ...{ name: UserFields.properties.name, language: UserFields.properties.language, currentPassword },
})
const AccountProof = closed('ClassAccountProof', 'That it is the person', { currentPassword })
const Done = closed('ClassDone', 'The same whether or not the address has an account', {})
const Address = closed('ClassAddress', 'The address to mail to', { email })
const User = Type.Object(
  {
    ...{ objectId, username, email: Type.Optional(email) },
    emailVerified: Type.Optional(
      Type.Boolean({ description: 'Whether the address is confirmed', examples: [true] }),
    ),
    ...UserFields.properties,
  },
  { $id: 'ClassUser', description: 'A user; others see neither the address nor the rest' },
)
const LoggedIn = Type.Object(
  { ...User.properties, sessionToken },
  { $id: 'ClassSession', description: 'The user, and a token for every later request' },
)
const OwnSession = Type.Object(
  {
    ...{ objectId: Type.String({ description: 'Session id', examples: ['s3DfGh12Jk'] }), sessionToken },
    createdAt: Type.String({ format: 'date-time', description: 'Time of the login' }),
  },
  { $id: 'ClassOwnSession', description: 'The session of the token' },
)

const parameter = {
  name: 'objectId',
  in: 'path',
  required: true,
  description: 'User id',
  schema: { type: 'string', examples: ['n4Fq2LxT0a'] },
}

/** Accounts and sessions; without terms and activation in the open test environment. */
export const accountPaths = (operationObject: OperationObject, open: boolean): Record<string, Json> => ({
  ...sessionPaths(operationObject),
  '/1/users': {
    post: operationObject({
      operationId: 'signUp',
      summary: 'Sign up',
      description: open
        ? 'The account works at once.'
        : 'A link to activate the account is mailed. The answer does not tell whether the address has an account already.',
      takes: open ? OpenSignUp : SignUp,
      answers: [201, Created],
      security: byKeys,
    }),
  },
  '/1/requestPasswordReset': mailing(operationObject, {
    operationId: 'requestPasswordReset',
    summary: 'Mail a link to choose a new password',
    description: 'The link works for one hour.',
  }),
  ...(open ? {} : ownAccountPaths(operationObject)),
})

const mailing = (
  operationObject: OperationObject,
  about: { operationId: string; summary: string; description: string },
): Json => ({ post: operationObject({ ...about, takes: Address, answers: [200, Done], security: byKeys }) })

const sessionPaths = (operationObject: OperationObject): Record<string, Json> => ({
  '/1/login': {
    post: operationObject({
      operationId: 'logIn',
      summary: 'Log in',
      description: 'A few wrong passwords lock the account for five minutes.',
      takes: Credentials,
      answers: [200, LoggedIn],
      security: byKeys,
    }),
  },
  '/1/logout': {
    post: operationObject({
      operationId: 'leaveSession',
      summary: 'Log out',
      description: 'Ends the session; its access and refresh tokens of the path family end with it.',
      answers: [200, Removed],
    }),
  },
  '/1/users/me': {
    get: operationObject({
      operationId: 'getOwnUser',
      summary: 'Get the user who is logged in',
      description: 'With the address, which others do not see.',
      answers: [200, LoggedIn],
    }),
  },
})

function ownAccountPaths(operationObject: OperationObject): Record<string, Json> {
  const changes = (verbs: { get: string; put: string; delete: string }): Json => ({
    parameters: [parameter],
    get: operationObject({
      operationId: verbs.get,
      summary: 'Get a user',
      description: 'Others than your own are found only where they have shared themselves.',
      answers: [200, User],
    }),
    put: operationObject({
      operationId: verbs.put,
      summary: 'Update your own account; a new address takes effect once the link mailed to it is followed',
      description: 'What is left out stays as it is.',
      takes: AccountChange,
      answers: [200, Updated],
    }),
    delete: operationObject({
      operationId: verbs.delete,
      summary: 'Delete your own account with all personal data; EHRs stay',
      description: 'All sessions end.',
      takes: AccountProof,
      answers: [200, Removed],
    }),
  })
  return {
    '/1/verificationEmailRequest': mailing(operationObject, {
      operationId: 'requestVerificationEmail',
      summary: 'Mail a new activation link',
      description: 'The one before no longer works.',
    }),
    '/1/sessions/me': {
      get: operationObject({
        operationId: 'getOwnSession',
        summary: 'Get the session of the token',
        description: 'All sessions of a user are listed at `/auth/sessions`.',
        answers: [200, OwnSession],
      }),
    },
    '/1/users/{objectId}': changes({ get: 'getUser', put: 'updateUser', delete: 'removeUser' }),
    '/1/classes/_User/{objectId}': changes({ get: 'readUser', put: 'changeUser', delete: 'deleteUser' }),
  }
}

import { Type } from '@sinclair/typebox'
import {
  ClassAccountChange,
  ClassAccountChanged,
  ClassAccountProof,
  ClassAddress,
  ClassLogin,
  ClassSignUp,
} from '../../../schemas/accounts/class-accounts.ts'
import { UserFields } from '../../../schemas/accounts/user.ts'
import { closedObject, systemFields } from '../../../schemas/common.ts'
import type { Json } from '../schema-collector.ts'
import { API_KEY_SECURITY, type DescribeOperation, ObjectCreated, ObjectRemoved } from './class-operation.ts'
import { describeListParameters, describeObjectParameters } from './list-parameters.ts'

const sessionToken = Type.String({
  description: 'Session token for the header X-Parse-Session-Token',
  examples: ['r:6a8f0c2e4b1d4e8f9a7c5b3d1f0e2c4a'],
})
const objectId = Type.String({ description: 'User id', examples: ['n4Fq2LxT0a'] })

const { username, password, email } = ClassSignUp.properties
/** Accounts of the open test environment can have any further properties. */
const OpenSignUp = Type.Object(
  { username, password, email: Type.Optional(email) },
  { $id: 'OpenSignUp', description: 'A new user', additionalProperties: true },
)
const NeutralResult = closedObject(
  'ClassDone',
  'Empty response, whether or not the address has an account',
  {},
)
const User = Type.Object(
  {
    objectId,
    // `keys` and `excludeKeys` may leave it out.
    username: Type.Optional(username),
    email: Type.Optional(email),
    emailVerified: Type.Optional(
      Type.Boolean({ description: 'True if the address is confirmed', examples: [true] }),
    ),
    ...UserFields.properties,
  },
  { $id: 'ClassUser', description: 'A user; only the user sees the address and the other properties' },
)
const Users = closedObject('ClassUsers', 'The matching users, and their number if requested', {
  results: Type.Array(User, { description: 'Matching users' }),
  count: Type.Optional(Type.Integer({ description: 'Total number of matching users', examples: [1] })),
})
const StoredUser = Type.Object({ ...systemFields, ...User.properties })
const LoggedIn = Type.Object(
  { ...User.properties, username, sessionToken },
  { $id: 'ClassSession', description: 'The user, with a session token for later requests' },
)
const LoggedInByFunction = closedObject('ClassLoginAnswer', 'Result of the function', { result: LoggedIn })
const OwnSession = Type.Object(
  {
    objectId: Type.String({ description: 'Session id', examples: ['s3DfGh12Jk'] }),
    sessionToken,
    createdAt: Type.String({ format: 'date-time', description: 'Time of the login' }),
  },
  { $id: 'ClassOwnSession', description: 'Session of the token' },
)

const OBJECT_ID_PARAMETER = {
  name: 'objectId',
  in: 'path',
  required: true,
  description: 'User id',
  schema: { type: 'string', examples: ['n4Fq2LxT0a'] },
}

/** Paths of accounts and sessions. The open test environment has neither terms nor activation. */
export const describeAccountPaths = (
  operationObject: DescribeOperation,
  open: boolean,
): Record<string, Json> => ({
  ...describeSessionPaths(operationObject),
  '/1/users': {
    ...(!open && {
      get: operationObject({
        operationId: 'listUsers',
        summary: 'List the users that you may read',
        description:
          'Contains yourself, and other users whose access control list permits it, without their addresses.',
        ...OWN_ACCOUNT_ORIGIN,
        answers: [200, Users],
        parameters: describeListParameters(StoredUser),
      }),
    }),
    post: operationObject({
      operationId: 'signUp',
      summary: 'Sign up',
      description: open
        ? 'The account is active immediately.'
        : 'Mails a link that activates the account. The response does not reveal whether the address already has an account.',
      source: 'What the service does, 2 and 3',
      takes: open ? OpenSignUp : ClassSignUp,
      answers: [201, ObjectCreated],
      security: API_KEY_SECURITY,
    }),
  },
  '/1/requestPasswordReset': describeMailOperation(operationObject, {
    operationId: 'requestPasswordReset',
    summary: 'Mail a link for choosing a new password',
    description: 'The link works for one hour.',
    source: 'resetting a password, as in the path family',
  }),
  ...(open ? {} : describeOwnAccountPaths(operationObject)),
})

const describeMailOperation = (
  operationObject: DescribeOperation,
  operation: { operationId: string; summary: string; description: string; source: string },
): Json => ({
  post: operationObject({
    ...operation,
    extra: true,
    takes: ClassAddress,
    answers: [200, NeutralResult],
    security: API_KEY_SECURITY,
  }),
})

const describeSessionPaths = (operationObject: DescribeOperation): Record<string, Json> => ({
  '/1/login': {
    post: operationObject({
      operationId: 'logIn',
      summary: 'Log in',
      description: 'A few wrong passwords lock the account for five minutes. Also available as `/Login`.',
      source: 'Authentication, Class-based family',
      takes: ClassLogin,
      answers: [200, LoggedIn],
      security: API_KEY_SECURITY,
    }),
  },
  '/functions/Login': {
    post: operationObject({
      operationId: 'callLogin',
      summary: 'Log in, for clients that only call functions',
      description: 'Returns the same as `/1/login`. Also available under `/1/functions`.',
      source: 'Authentication, Class-based family',
      takes: ClassLogin,
      answers: [200, LoggedInByFunction],
      security: API_KEY_SECURITY,
    }),
  },
  '/1/logout': {
    post: operationObject({
      operationId: 'leaveSession',
      summary: 'Log out',
      description: 'Ends the session; its access and refresh tokens of the path family end with it.',
      source: 'sessions',
      extra: true,
      answers: [200, ObjectRemoved],
    }),
  },
  '/1/users/me': {
    get: operationObject({
      operationId: 'getOwnUser',
      summary: 'Get the user who is logged in',
      description: 'Includes the address, which other users do not see.',
      source: 'sessions',
      extra: true,
      answers: [200, LoggedIn],
      parameters: describeObjectParameters(StoredUser),
    }),
  },
})

const OWN_ACCOUNT_ORIGIN = { source: 'accounts, as in the path family', extra: true } as const

function describeOwnAccountPaths(operationObject: DescribeOperation): Record<string, Json> {
  const changes = (verbs: { get: string; put: string; delete: string }): Json => ({
    parameters: [OBJECT_ID_PARAMETER],
    get: operationObject({
      operationId: verbs.get,
      summary: 'Get a user',
      description: 'Other users are found only if their access control list permits it.',
      ...OWN_ACCOUNT_ORIGIN,
      answers: [200, User],
      parameters: describeObjectParameters(StoredUser),
    }),
    put: operationObject({
      operationId: verbs.put,
      summary: 'Update your own account; a new address takes effect once the link mailed to it is followed',
      description: 'Omitted fields keep their values.',
      ...OWN_ACCOUNT_ORIGIN,
      takes: ClassAccountChange,
      answers: [200, ClassAccountChanged],
    }),
    delete: operationObject({
      operationId: verbs.delete,
      summary: 'Delete your own account with all personal data; EHRs stay',
      description: 'Ends all sessions.',
      ...OWN_ACCOUNT_ORIGIN,
      takes: ClassAccountProof,
      answers: [200, ObjectRemoved],
    }),
  })
  return {
    '/1/verificationEmailRequest': describeMailOperation(operationObject, {
      operationId: 'requestVerificationEmail',
      summary: 'Mail a new activation link',
      description: 'The previous link stops working.',
      source: 'activation of an account',
    }),
    '/1/sessions/me': {
      get: operationObject({
        operationId: 'getOwnSession',
        summary: 'Get the session of the token',
        description: 'To list all your sessions, use `/auth/sessions`.',
        source: 'sessions',
        extra: true,
        answers: [200, OwnSession],
      }),
    },
    '/1/users/{objectId}': changes({ get: 'getUser', put: 'updateUser', delete: 'removeUser' }),
    '/1/classes/_User/{objectId}': changes({ get: 'readUser', put: 'changeUser', delete: 'deleteUser' }),
  }
}

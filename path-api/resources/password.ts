import { Type } from '@sinclair/typebox'
import { Address, PasswordByToken, PasswordChange } from '../../schemas/account.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { InvalidInput, placedIn } from '../answer/invalid-input.ts'
import { operation } from '../operation/operation.ts'
import { newLinkAt } from './registration.ts'

const source = 'Endpoints, Accounts'

/** One object rather than a choice of two: a fault is then named by its own path. */
const PasswordUpdate = Type.Object(
  {
    ...Type.Partial(PasswordByToken).properties,
    ...Type.Partial(PasswordChange).properties,
    newPassword: PasswordByToken.properties.newPassword,
  },
  {
    $id: 'PasswordUpdate',
    additionalProperties: false,
    description: 'A new password, with either the token of a mailed link or the current password',
    examples: [{ token: 'oLrVmzMXbd6u8kPqYHtTn3wJc', newPassword: 'correct horse battery staple' }],
  },
)

export const password = [
  operation({
    id: 'resetPassword',
    method: 'post',
    path: '/auth/account/password/reset',
    summary: 'Request a link to choose a new password',
    description: 'The answer does not reveal whether the account exists.',
    source,
    access: 'public',
    body: Address,
    reply: [202],
    guarded: ({ body }) => body.email,
    handle: ({ body }, { passwords }) => passwords.reset(body.email),
  }),
  operation({
    id: 'updatePassword',
    method: 'post',
    path: '/auth/account/password/update',
    summary: 'Set a new password',
    description:
      'With `token`, from a mailed link: all sessions end. With `currentPassword`, logged in: all other sessions end.',
    source,
    access: 'optional',
    body: PasswordUpdate,
    reply: [204],
    errors: ['LinkExpired', 'WrongPassword', 'RuleViolated', 'AccountLocked', 'NotFound'],
    guarded: () => undefined,
    handle: async ({ body }, { passwords, principal }) => {
      const { token, currentPassword, newPassword, termsAccepted } = body
      if ((token === undefined) === (currentPassword === undefined)) throw eitherOr()
      if (token !== undefined)
        return passwords
          .chooseByToken(token, newPassword, termsAccepted)
          .catch(newLinkAt('/auth/account/password/reset'))
      if (currentPassword === undefined || principal === undefined) throw new ServiceError('Unauthenticated')
      await passwords.change(principal.mvUid, principal.sessionId, currentPassword, newPassword)
    },
  }),
]

const eitherOr = () =>
  new InvalidInput([
    placedIn('body')({
      path: '',
      code: 'either-or',
      message: 'must contain either token or currentPassword, not both',
    }),
  ])

import { Type } from '@sinclair/typebox'
import { EmailOnlyBody, PasswordChange, PasswordReset } from '../../../schemas/accounts/account.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import { defineOperation } from '../../operation/operation.ts'
import { InvalidInput, locateViolation } from '../../reply/invalid-input.ts'
import { explainExpiredLink } from './registration.ts'

const passwordSource = 'Endpoints, Accounts'

/** A single object instead of a union, so that violations have their own paths. */
const PasswordUpdate = Type.Object(
  {
    ...Type.Partial(PasswordReset).properties,
    ...Type.Partial(PasswordChange).properties,
    newPassword: PasswordReset.properties.newPassword,
  },
  {
    $id: 'PasswordUpdate',
    additionalProperties: false,
    description: 'A new password, with either the token from a mailed link or the current password',
    examples: [{ token: 'oLrVmzMXbd6u8kPqYHtTn3wJc', newPassword: 'correct horse battery staple' }],
  },
)

export const passwordOperations = [
  defineOperation({
    id: 'resetPassword',
    method: 'post',
    path: '/auth/account/password/reset',
    summary: 'Request a link for choosing a new password',
    description: 'The response does not reveal whether the account exists.',
    source: passwordSource,
    access: 'public',
    body: EmailOnlyBody,
    reply: [202],
    guardedAccount: ({ body }) => body.email,
    handle: ({ body }, { passwords }) => passwords.requestReset(body.email),
  }),
  defineOperation({
    id: 'updatePassword',
    method: 'post',
    path: '/auth/account/password/update',
    summary: 'Set a new password',
    description:
      'With the `token` of a mailed link, all sessions end. With `currentPassword` and a valid session, all other sessions end.',
    source: passwordSource,
    access: 'optional',
    body: PasswordUpdate,
    reply: [204],
    errors: ['LinkExpired', 'WrongPassword', 'RuleViolated', 'AccountLocked', 'NotFound'],
    guardedAccount: () => undefined,
    handle: async ({ body }, { passwords, principal }) => {
      const { token, currentPassword, newPassword, termsAccepted } = body
      if ((token === undefined) === (currentPassword === undefined)) throw tokenAndPasswordGiven()
      if (token !== undefined)
        return passwords
          .chooseByToken(token, newPassword, termsAccepted)
          .catch(explainExpiredLink('/auth/account/password/reset'))
      if (currentPassword === undefined || principal === undefined) throw new ServiceError('Unauthenticated')
      await passwords.changePassword(principal.mvUid, principal.sessionId, currentPassword, newPassword)
    },
  }),
]

const tokenAndPasswordGiven = () =>
  new InvalidInput([
    locateViolation('body')({
      path: '',
      code: 'either-or',
      message: 'must contain either token or currentPassword, not both',
    }),
  ])

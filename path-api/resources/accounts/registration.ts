import {
  ActivationByToken,
  ActivationResult,
  EmailOnlyBody,
  Registration,
  RegistrationResult,
} from '../../../schemas/accounts/account.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import { defineOperation } from '../../operation/operation.ts'

const registrationSource = 'Endpoints, Accounts; What the service does, 2 and 3'

/** Tells the owner of an expired link where to get a new one. */
export const explainExpiredLink =
  (path: string) =>
  (error: unknown): never => {
    if (!(error instanceof ServiceError && error.error === 'LinkExpired')) throw error
    throw new ServiceError('LinkExpired', { detail: `Ask for a new link: POST ${path}.`, cause: error })
  }

export const registrationOperations = [
  defineOperation({
    id: 'registerAccount',
    method: 'post',
    path: '/auth/account/register/password',
    summary: 'Register with e-mail address and password',
    description:
      'The service mails a link that activates the account. If the address already has an account, the response is the same and the mail says so.',
    source: registrationSource,
    access: 'public',
    body: Registration,
    reply: [202, RegistrationResult],
    errors: ['RuleViolated'],
    guardedAccount: ({ body }) => body.email,
    handle: async ({ body }, { registrations, language }) => {
      // English is the default and is not stored.
      await registrations.register({ ...(language !== 'en' && { language }), ...body })
      return { email: body.email, state: 'ACTIVATION_PENDING' as const }
    },
  }),
  defineOperation({
    id: 'activateAccount',
    method: 'post',
    path: '/auth/account/register/activate',
    summary: 'Activate an account, or confirm a new address, with the token from a mailed link',
    source: registrationSource,
    access: 'public',
    body: ActivationByToken,
    reply: [200, ActivationResult],
    errors: ['LinkExpired', 'Conflict', 'RuleViolated'],
    guardedAccount: () => undefined,
    handle: ({ body }, { registrations }) =>
      registrations.activate(body.token, body).catch(explainExpiredLink('/auth/account/register/resend')),
  }),
  defineOperation({
    id: 'resendActivation',
    method: 'post',
    path: '/auth/account/register/resend',
    summary: 'Request a new activation link; the previous one becomes invalid',
    description:
      'An invited user gets a new invitation. The response does not reveal whether the account exists.',
    source: registrationSource,
    extra: true,
    access: 'public',
    body: EmailOnlyBody,
    reply: [202],
    guardedAccount: ({ body }) => body.email,
    handle: ({ body }, { registrations }) => registrations.resend(body.email),
  }),
]

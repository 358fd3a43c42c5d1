import { Activated, ActivationByToken, Address, Registered, Registration } from '../../schemas/account.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { operation } from '../operation/operation.ts'

const source = 'Endpoints, Accounts; What the service does, 2 and 3'

/** What an expired link answers: where a new one is to be had. */
export const newLinkAt =
  (path: string) =>
  (error: unknown): never => {
    if (!(error instanceof ServiceError && error.error === 'LinkExpired')) throw error
    throw new ServiceError('LinkExpired', { detail: `Ask for a new link: POST ${path}.`, cause: error })
  }

export const registration = [
  operation({
    id: 'registerAccount',
    method: 'post',
    path: '/auth/account/register/password',
    summary: 'Register with e-mail address and password',
    description:
      'A mail contains the link that activates the account. If the address already has an account, the answer is the same, and the mail says so.',
    source,
    access: 'public',
    body: Registration,
    reply: [202, Registered],
    errors: ['RuleViolated'],
    guarded: ({ body }) => body.email,
    handle: ({ body }, { registrations, language }) => {
      // English is what everybody gets who says nothing.
      registrations.register({ ...(language !== 'en' && { language }), ...body })
      return { email: body.email, state: 'ACTIVATION_PENDING' as const }
    },
  }),
  operation({
    id: 'activateAccount',
    method: 'post',
    path: '/auth/account/register/activate',
    summary: 'Activate an account, or confirm a new address, with the token of a mailed link',
    source,
    access: 'public',
    body: ActivationByToken,
    reply: [200, Activated],
    errors: ['LinkExpired', 'Conflict', 'RuleViolated'],
    guarded: () => undefined,
    handle: ({ body }, { registrations }) =>
      registrations
        .activate(body.token, body.termsAccepted)
        .catch(newLinkAt('/auth/account/register/resend')),
  }),
  operation({
    id: 'resendActivation',
    method: 'post',
    path: '/auth/account/register/resend',
    summary: 'Request a new activation link; the previous one becomes invalid',
    description: 'The answer does not reveal whether the account exists.',
    source,
    extra: true,
    access: 'public',
    body: Address,
    reply: [202],
    guarded: ({ body }) => body.email,
    handle: ({ body }, { registrations }) => registrations.resend(body.email),
  }),
]

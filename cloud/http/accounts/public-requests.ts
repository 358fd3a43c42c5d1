import { newId } from '../../../records/store/documents/ids.ts'
import { emailField } from '../../../schemas/accounts/account.ts'
import { ClassAddress } from '../../../schemas/accounts/class-accounts.ts'
import { createValidator } from '../../../schemas/validation/validators.ts'
import { parseErrorCode, Refusal } from '../request/parse-request.ts'
import { type BodyFields, parseSignUp, requireKnownProperties } from './account-bodies.ts'
import type { AccountRequest, AccountResponse } from './account-request.ts'

const findEmailViolations = createValidator(emailField())

/** Responds before the address is looked up, with the id that a new account would get. */
export async function signUp({
  req,
  registrations,
  limitAttempts,
}: AccountRequest): Promise<AccountResponse> {
  const account = parseSignUp(bodyFieldsOf(req.body))
  await limitAttempts('registerAccount', account.email)
  const objectId = newId()
  await registrations.signUp({ ...account, id: objectId })
  return { status: 201, body: { objectId, createdAt: new Date().toISOString() } }
}

export async function logIn({ req, logins, limitAttempts }: AccountRequest): Promise<AccountResponse> {
  const { username, email, password } = bodyFieldsOf(req.body)
  const name = username || email
  if (!name) throw new Refusal(400, parseErrorCode.usernameMissing, 'username/email is required.')
  if (!password) throw new Refusal(400, parseErrorCode.passwordMissing, 'password is required.')
  if (typeof name !== 'string' || typeof password !== 'string')
    throw new Refusal(404, parseErrorCode.notFound, 'Invalid username/password.')
  await limitAttempts('loginWithPassword', name)
  return { body: await logins.logInForClassFamily(name, password, req.info.installationId) }
}

/** The function `Login`: the same as the route, for clients that only speak functions. */
export async function logInByFunction(handling: AccountRequest): Promise<AccountResponse> {
  return { body: { result: (await logIn(handling)).body } }
}

/** Mails a link to the address, if it has an account; the response does not tell. */
const createMailRequest =
  (operationId: string, send: (handling: AccountRequest, email: string) => Promise<void>) =>
  async (handling: AccountRequest): Promise<AccountResponse> => {
    const email = emailIn(handling.req.body)
    await handling.limitAttempts(operationId, email)
    await send(handling, email)
    return { body: {} }
  }

export const requestPasswordReset = createMailRequest('resetPassword', ({ passwords }, email) =>
  passwords.requestReset(email),
)

export const sendVerification = createMailRequest('resendActivation', ({ registrations }, email) =>
  registrations.resend(email),
)

function emailIn(body: unknown): string {
  const fields = bodyFieldsOf(body)
  requireKnownProperties(fields, ClassAddress)
  const { email } = fields
  if (!email) throw new Refusal(400, parseErrorCode.emailMissing, 'email is required')
  if (typeof email !== 'string' || findEmailViolations(email).length > 0)
    throw new Refusal(400, parseErrorCode.invalidEmail, 'email must be an e-mail address')
  return email
}

const bodyFieldsOf = (body: unknown): BodyFields => (body ?? {}) as BodyFields

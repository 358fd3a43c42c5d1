import { newId } from '../../../records/store/documents/ids.ts'
import { emailField } from '../../../schemas/accounts/account.ts'
import { createValidator } from '../../../schemas/validation/validators.ts'
import { parseErrorCode, Refusal } from '../request/parse-request.ts'
import { type BodyFields, parseSignUp } from './account-bodies.ts'
import type { AccountRequest, AccountResponse } from './account-request.ts'

const findEmailViolations = createValidator(emailField())

/** Responds before the address is looked up, with the id that a new account would get. */
export async function signUp({
  req,
  registrations,
  limitAttempts: guard,
}: AccountRequest): Promise<AccountResponse> {
  const wanted = parseSignUp(bodyFieldsOf(req.body))
  await guard('registerAccount', wanted.email)
  const objectId = newId()
  await registrations.signUp({ ...wanted, id: objectId })
  return { status: 201, body: { objectId, createdAt: new Date().toISOString() } }
}

export async function logIn({ req, logins, limitAttempts: guard }: AccountRequest): Promise<AccountResponse> {
  const { username, email, password } = bodyFieldsOf(req.body)
  const name = username || email
  if (!name) throw new Refusal(400, parseErrorCode.usernameMissing, 'username/email is required.')
  if (!password) throw new Refusal(400, parseErrorCode.passwordMissing, 'password is required.')
  if (typeof name !== 'string' || typeof password !== 'string')
    throw new Refusal(404, parseErrorCode.notFound, 'Invalid username/password.')
  await guard('loginWithPassword', name)
  return { body: await logins.logInForClassFamily(name, password, req.info.installationId) }
}

/** The function `Login`: the same as the route, for clients that only speak functions. */
export async function logInByFunction(handling: AccountRequest): Promise<AccountResponse> {
  return { body: { result: (await logIn(handling)).body } }
}

export async function requestPasswordReset({
  req,
  passwords,
  limitAttempts: guard,
}: AccountRequest): Promise<AccountResponse> {
  const email = emailIn(req.body)
  await guard('resetPassword', email)
  passwords.requestReset(email)
  return { body: {} }
}

export async function sendVerification({
  req,
  registrations,
  limitAttempts: guard,
}: AccountRequest): Promise<AccountResponse> {
  const email = emailIn(req.body)
  await guard('resendActivation', email)
  registrations.resend(email)
  return { body: {} }
}

function emailIn(body: unknown): string {
  const { email } = bodyFieldsOf(body)
  if (!email) throw new Refusal(400, parseErrorCode.emailMissing, 'you must provide an email')
  if (typeof email !== 'string' || findEmailViolations(email).length > 0)
    throw new Refusal(400, parseErrorCode.invalidEmail, 'you must provide a valid email string')
  return email
}

const bodyFieldsOf = (body: unknown): BodyFields => (body ?? {}) as BodyFields

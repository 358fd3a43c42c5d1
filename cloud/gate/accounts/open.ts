import { newId } from '../../../records/store/documents/ids.ts'
import { emailAddress } from '../../../schemas/account.ts'
import { checkOf } from '../../../schemas/registry.ts'
import { code, Refusal } from '../request/parse-request.ts'
import { type Fields, signUpIn } from './bodies.ts'
import type { Answer, Handling } from './handling.ts'

const emailFaults = checkOf(emailAddress())

/** Answers before anybody looks the address up: with the id that the account gets if there is none yet. */
export async function signUp({ req, registrations, guard }: Handling): Promise<Answer> {
  const wanted = signUpIn(fieldsOf(req.body))
  await guard('registerAccount', wanted.email)
  const objectId = newId()
  await registrations.signUp({ ...wanted, id: objectId })
  return { status: 201, body: { objectId, createdAt: new Date().toISOString() } }
}

export async function logIn({ req, logins, guard }: Handling): Promise<Answer> {
  const { username, email, password } = fieldsOf(req.body)
  const name = username || email
  if (!name) throw new Refusal(400, code.usernameMissing, 'username/email is required.')
  if (!password) throw new Refusal(400, code.passwordMissing, 'password is required.')
  if (typeof name !== 'string' || typeof password !== 'string')
    throw new Refusal(404, code.notFound, 'Invalid username/password.')
  await guard('loginWithPassword', name)
  return { body: await logins.classFamily(name, password, req.info.installationId) }
}

/** The function `Login`: the same as the route, for clients that only speak functions. */
export async function logInByFunction(handling: Handling): Promise<Answer> {
  return { body: { result: (await logIn(handling)).body } }
}

export async function resetPassword({ req, passwords, guard }: Handling): Promise<Answer> {
  const email = addressIn(req.body)
  await guard('resetPassword', email)
  passwords.reset(email)
  return { body: {} }
}

export async function sendVerification({ req, registrations, guard }: Handling): Promise<Answer> {
  const email = addressIn(req.body)
  await guard('resendActivation', email)
  registrations.resend(email)
  return { body: {} }
}

function addressIn(body: unknown): string {
  const { email } = fieldsOf(body)
  if (!email) throw new Refusal(400, code.emailMissing, 'you must provide an email')
  if (typeof email !== 'string' || emailFaults(email).length > 0)
    throw new Refusal(400, code.invalidEmail, 'you must provide a valid email string')
  return email
}

const fieldsOf = (body: unknown): Fields => (body ?? {}) as Fields

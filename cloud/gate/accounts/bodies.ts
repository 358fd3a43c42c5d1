import { isDeepStrictEqual } from 'node:util'
import { type Static, Type } from '@sinclair/typebox'
import type { User } from '../../../records/accounts/user/user.ts'
import {
  AccountUpdate,
  accountLanguage,
  accountName,
  emailAddress,
  password,
} from '../../../schemas/account.ts'
import { checkOf } from '../../../schemas/registry.ts'
import { SERVICE_USER_FIELDS } from '../../../schemas/user.ts'
import { inOneLine } from '../../../schemas/violation.ts'
import { code, Refusal } from '../request/parse-request.ts'

export type Fields = Record<string, unknown>

const { name, language, chatMails } = AccountUpdate.properties
const username = Type.String({ minLength: 1, maxLength: 254 })
const closed = { additionalProperties: false }

const SignUp = Type.Object(
  {
    ...{ username, email: emailAddress(), password },
    termsAccepted: Type.Optional(Type.Boolean()),
    name: Type.Optional(accountName),
    language: Type.Optional(accountLanguage),
  },
  closed,
)

const Change = Type.Object(
  {
    ...Type.Partial(Type.Object({ username, email: emailAddress(), password })).properties,
    ...{ currentPassword: Type.Optional(password), name, language, chatMails },
  },
  closed,
)

const emailFaults = checkOf(emailAddress())
const signUpFaults = checkOf(SignUp)
const changeFaults = checkOf(Change)

/** What somebody wants to sign up with; names and addresses are in lower case already. @throws Refusal */
export function signUpIn(body: Fields): Static<typeof SignUp> {
  const sent = withoutKept(body, undefined)
  if (!sent.username) throw new Refusal(400, code.usernameMissing, 'bad or missing username')
  if (!sent.password) throw new Refusal(400, code.passwordMissing, 'password is required')
  if (sent.email === undefined || sent.email === null)
    throw new Refusal(400, code.scriptFailed, 'Missing required properties: email')
  requireEmail(sent.email)
  return fitting<Static<typeof SignUp>>(sent, signUpFaults)
}

/**
 * What is to change of an account, names and addresses in lower case already: what is as it was is left out, and null or
 * `Delete` removes.
 * @throws Refusal
 */
export function changeIn(body: Fields, user: User): Static<typeof Change> {
  const sent = withoutKept(body, user)
  for (const key of ['email', 'username'] as const) if (sent[key] === user[key]) delete sent[key]
  for (const key of ['name', 'language']) if (isDelete(sent[key])) sent[key] = null
  if (sent.email !== undefined) requireEmail(sent.email)
  const change = fitting<Static<typeof Change>>(sent, changeFaults)
  // Who logs in with the address goes on doing so with the new one, when it is confirmed.
  if (change.username === change.email) delete change.username
  return change
}

/** Clients may send back what they have read; what the service notes of an account they cannot change. */
function withoutKept(body: Fields, user: User | undefined): Fields {
  const { ACL: _, objectId: _id, createdAt: _created, updatedAt: _updated, ...sent } = body
  for (const path of [...SERVICE_USER_FIELDS, 'emailVerified'] as const) {
    const kept = user?.[path as keyof User]
    const readable = kept instanceof Date ? { __type: 'Date', iso: kept.toISOString() } : kept
    if (path in sent && !isDeepStrictEqual(sent[path], readable))
      throw new Refusal(400, code.validation, `${path} must not be set by clients`)
    delete sent[path]
  }
  return sent
}

function requireEmail(email: unknown): void {
  if (typeof email !== 'string' || emailFaults(email).length > 0)
    throw new Refusal(400, code.invalidEmail, 'Email address format is invalid.')
}

function fitting<T>(sent: Fields, faultsOf: ReturnType<typeof checkOf>): T {
  const faults = faultsOf(sent)
  if (faults.length > 0) throw new Refusal(400, code.validation, inOneLine(faults))
  return sent as T
}

const isDelete = (value: unknown): boolean =>
  (value as { __op?: unknown } | null | undefined)?.__op === 'Delete'

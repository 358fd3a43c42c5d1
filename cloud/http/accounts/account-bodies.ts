import { isDeepStrictEqual } from 'node:util'
import { type Static, Type } from '@sinclair/typebox'
import type { User } from '../../../records/accounts/user/user.ts'
import {
  AccountUpdate,
  accountLanguageField,
  accountNameField,
  currentPasswordField,
  emailField,
} from '../../../schemas/accounts/account.ts'
import { SERVICE_USER_FIELDS } from '../../../schemas/accounts/user.ts'
import { toDateObject } from '../../../schemas/forms/class-form.ts'
import { createValidator } from '../../../schemas/validation/validators.ts'
import { formatViolations } from '../../../schemas/validation/violations.ts'
import { parseErrorCode, Refusal } from '../request/parse-request.ts'

export type BodyFields = Record<string, unknown>

const { name, language, chatMails } = AccountUpdate.properties
const usernameSchema = Type.String({ minLength: 1, maxLength: 254 })
const CLOSED = { additionalProperties: false }

const SignUpBody = Type.Object(
  {
    ...{ username: usernameSchema, email: emailField(), password: currentPasswordField },
    termsAccepted: Type.Optional(Type.Boolean()),
    name: Type.Optional(accountNameField),
    language: Type.Optional(accountLanguageField),
  },
  CLOSED,
)

const AccountChangeBody = Type.Object(
  {
    ...Type.Partial(
      Type.Object({ username: usernameSchema, email: emailField(), password: currentPasswordField }),
    ).properties,
    ...{ currentPassword: Type.Optional(currentPasswordField), name, language, chatMails },
  },
  CLOSED,
)

const findEmailViolations = createValidator(emailField())
const findSignUpViolations = createValidator(SignUpBody)
const findChangeViolations = createValidator(AccountChangeBody)

/**
 * Parses a sign-up; names and addresses are already in lower case.
 * @throws Refusal
 */
export function parseSignUp(body: BodyFields): Static<typeof SignUpBody> {
  const sent = withoutSystemFields(body, undefined)
  if (!sent.username) throw new Refusal(400, parseErrorCode.usernameMissing, 'bad or missing username')
  if (!sent.password) throw new Refusal(400, parseErrorCode.passwordMissing, 'password is required')
  if (sent.email === undefined || sent.email === null)
    throw new Refusal(400, parseErrorCode.scriptFailed, 'Missing required properties: email')
  requireEmail(sent.email)
  return requireFit<Static<typeof SignUpBody>>(sent, findSignUpViolations)
}

/**
 * Parses the changes of an account; names and addresses are already in lower case. Unchanged values are
 * dropped; null and `Delete` remove a value.
 * @throws Refusal
 */
export function parseAccountChange(body: BodyFields, user: User): Static<typeof AccountChangeBody> {
  const sent = withoutSystemFields(body, user)
  for (const key of ['email', 'username'] as const) if (sent[key] === user[key]) delete sent[key]
  for (const key of ['name', 'language']) if (isDeleteOperation(sent[key])) sent[key] = null
  if (sent.email !== undefined) requireEmail(sent.email)
  const change = requireFit<Static<typeof AccountChangeBody>>(sent, findChangeViolations)
  // A user who logs in with the address continues to do so: the name changes when the new address is
  // confirmed.
  if (change.username === change.email) delete change.username
  return change
}

/** Drops system fields: clients may send them back but cannot change them. */
function withoutSystemFields(body: BodyFields, user: User | undefined): BodyFields {
  const { ACL: _, objectId: _id, createdAt: _created, updatedAt: _updated, ...sent } = body
  for (const path of [...SERVICE_USER_FIELDS, 'emailVerified'] as const) {
    const kept = user?.[path as keyof User]
    const readable = kept instanceof Date ? toDateObject(kept.toISOString()) : kept
    if (path in sent && !isDeepStrictEqual(sent[path], readable))
      throw new Refusal(400, parseErrorCode.validation, `${path} must not be set by clients`)
    delete sent[path]
  }
  return sent
}

function requireEmail(email: unknown): void {
  if (typeof email !== 'string' || findEmailViolations(email).length > 0)
    throw new Refusal(400, parseErrorCode.invalidEmail, 'Email address format is invalid.')
}

function requireFit<T>(sent: BodyFields, faultsOf: ReturnType<typeof createValidator>): T {
  const faults = faultsOf(sent)
  if (faults.length > 0) throw new Refusal(400, parseErrorCode.validation, formatViolations(faults))
  return sent as T
}

const isDeleteOperation = (value: unknown): boolean =>
  (value as { __op?: unknown } | null | undefined)?.__op === 'Delete'

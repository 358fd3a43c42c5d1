import { isDeepStrictEqual } from 'node:util'
import type { Static, TObject } from '@sinclair/typebox'
import type { User } from '../../../records/accounts/user/user.ts'
import { emailField } from '../../../schemas/accounts/account.ts'
import { ClassAccountChange, ClassSignUp } from '../../../schemas/accounts/class-accounts.ts'
import { SERVICE_USER_FIELDS } from '../../../schemas/accounts/user.ts'
import { toAcl, toDateObject } from '../../../schemas/forms/class-form.ts'
import { createValidator } from '../../../schemas/validation/validators.ts'
import { formatViolations } from '../../../schemas/validation/violations.ts'
import { FIXED_ID_VIOLATION, timeViolations } from '../../triggers/objects/own-properties.ts'
import { parseErrorCode, Refusal } from '../request/parse-request.ts'

export type BodyFields = Record<string, unknown>

const findEmailViolations = createValidator(emailField())
const findSignUpViolations = createValidator(ClassSignUp)
const findChangeViolations = createValidator(ClassAccountChange)

/**
 * Parses a sign-up; names and addresses are already in lower case.
 * @throws Refusal
 */
export function parseSignUp(body: BodyFields): Static<typeof ClassSignUp> {
  const fields = withoutSystemFields(body)
  if (!fields.username) throw new Refusal(400, parseErrorCode.usernameMissing, 'bad or missing username')
  if (!fields.password) throw new Refusal(400, parseErrorCode.passwordMissing, 'password is required')
  if (fields.email === undefined || fields.email === null)
    throw new Refusal(400, parseErrorCode.scriptFailed, 'Missing required properties: email')
  requireEmail(fields.email)
  return requireFit<Static<typeof ClassSignUp>>(fields, findSignUpViolations)
}

/**
 * Parses the changes of an account; names and addresses are already in lower case. Unchanged values are
 * dropped; null and `Delete` remove a value.
 * @throws Refusal
 */
export function parseAccountChange(
  body: BodyFields,
  user: User,
  sessionToken: string | undefined,
): Static<typeof ClassAccountChange> {
  requireSameSystemFields(body, user)
  const fields = withoutSystemFields(body, user, sessionToken)
  for (const key of ['email', 'username', 'name', 'language', 'chatMails'] as const)
    if (fields[key] === user[key]) delete fields[key]
  for (const key of ['name', 'language']) if (isDeleteOperation(fields[key])) fields[key] = null
  if (fields.email !== undefined) requireEmail(fields.email)
  const change = requireFit<Static<typeof ClassAccountChange>>(fields, findChangeViolations)
  // A user who logs in with the address continues to do so: the name changes when the new address is
  // confirmed.
  if (change.username === change.email) delete change.username
  return change
}

/**
 * Rejects properties that the body of a request does not have.
 * @throws Refusal 400/142
 */
export function requireKnownProperties(body: BodyFields, { properties }: TObject): void {
  const unknown = Object.keys(body).filter((name) => !Object.hasOwn(properties, name))
  const violations = unknown.map((path) => ({ path, code: 'unknown', message: 'is not a known property' }))
  if (violations.length > 0) throw new Refusal(400, parseErrorCode.validation, formatViolations(violations))
}

/** @throws Refusal 400/142 */
function requireSameSystemFields(body: BodyFields, { _id, _created_at, _updated_at }: User): void {
  const stored = { createdAt: _created_at.toISOString(), updatedAt: _updated_at.toISOString() }
  const isOther = body.objectId !== undefined && body.objectId !== _id
  const violations = [...(isOther ? [FIXED_ID_VIOLATION] : []), ...timeViolations(body, stored)]
  if (violations.length > 0) throw new Refusal(400, parseErrorCode.validation, formatViolations(violations))
}

/** Drops system fields: clients may send them back but cannot change them. */
function withoutSystemFields(body: BodyFields, user?: User, ownToken?: string): BodyFields {
  const { objectId: _id, createdAt: _created, updatedAt: _updated, ACL, ...fields } = body
  const ownAcl = user && toAcl({ read: user._rperm ?? [], write: user._wperm ?? [] })
  if (ACL !== undefined && !isDeepStrictEqual(ACL, ownAcl))
    throw new Refusal(400, parseErrorCode.invalidAcl, 'ACL must not be set by clients.')
  // Parse shows the session in the account.
  if (ownToken !== undefined && fields.sessionToken === ownToken) delete fields.sessionToken
  for (const path of [...SERVICE_USER_FIELDS, 'emailVerified'] as const) {
    const storedValue = user?.[path as keyof User]
    const readable = storedValue instanceof Date ? toDateObject(storedValue.toISOString()) : storedValue
    if (path in fields && !isDeepStrictEqual(fields[path], readable))
      throw new Refusal(400, parseErrorCode.validation, `${path} must not be set by clients`)
    delete fields[path]
  }
  return fields
}

function requireEmail(email: unknown): void {
  if (typeof email !== 'string' || findEmailViolations(email).length > 0)
    throw new Refusal(400, parseErrorCode.invalidEmail, 'Email address format is invalid.')
}

/** @throws Refusal 400/142 */
export function requireFit<T>(fields: BodyFields, faultsOf: ReturnType<typeof createValidator>): T {
  const faults = faultsOf(fields)
  if (faults.length > 0) throw new Refusal(400, parseErrorCode.validation, formatViolations(faults))
  return fields as T
}

const isDeleteOperation = (value: unknown): boolean =>
  (value as { __op?: unknown } | null | undefined)?.__op === 'Delete'

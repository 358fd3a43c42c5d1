import Parse from 'parse/node'
import { cancelEmailChange } from '../../records/accounts/email-changes.ts'
import { toLowerCaseLogin } from '../../records/accounts/user/user.ts'
import { ensureAccountEhr } from '../../records/ehrs/creation/account-ehr.ts'
import { newId } from '../../records/store/documents/ids.ts'
import type { StoreContext } from '../../records/store/writing/transaction.ts'
import { emailField } from '../../schemas/accounts/account.ts'
import { createValidator } from '../../schemas/validation/validators.ts'
import { createCallerWithoutRoles } from '../request/caller.ts'
import { forbiddenError, requireProperties, validationError } from '../request/parse-errors.ts'

const findEmailViolations = createValidator(emailField())

/** Fields whose change increments the version of an account, which is its ETag in the path family. */
const VERSIONED_FIELDS = ['email', 'emailVerified', 'name', 'language', 'chatMails']

/** Rules for account writes by the service or with the master key. Account routes serve the requests of clients. */
export async function beforeSaveUser(
  storeContext: StoreContext,
  request: Parse.Cloud.BeforeSaveRequest,
): Promise<void> {
  const { object, master, context } = request
  if (!master) throw forbiddenError('Accounts are created and changed at /1/users.')
  const isNew = object.id === undefined
  if (isNew || object.dirty('email')) checkEmail(object)
  for (const name of ['email', 'username'] as const) {
    const value: unknown = object.get(name)
    if (object.dirty(name) && typeof value === 'string') object.set(name, toLowerCaseLogin(value))
  }
  if (!isNew) return beforeUpdateUser(storeContext, object)
  const { newId: id } = context as { newId?: string }
  if (id !== undefined) object.id = id
  object.set('ehrId', newId())
  object.set('version', 1)
}

/** A new password or address cancels a pending address change, which somebody else may have requested. */
async function beforeUpdateUser({ db }: StoreContext, object: Parse.Object): Promise<void> {
  if (VERSIONED_FIELDS.some((name) => object.dirty(name))) object.increment('version')
  if (object.id && (object.dirty('password') || object.dirty('email'))) await cancelEmailChange(db, object.id)
}

function checkEmail(object: Parse.Object): void {
  const email: unknown = object.get('email')
  requireProperties(['email'], { email })
  if (typeof email !== 'string')
    throw validationError({ path: 'email', code: 'type', message: 'must be a string' })
  if (findEmailViolations(email).length > 0)
    throw new Parse.Error(Parse.Error.INVALID_EMAIL_ADDRESS, 'Email address format is invalid.')
}

/** Creates the account EHR at the first login. Unconfirmed accounts have none. */
export async function createEhrAtFirstLogin(
  context: StoreContext,
  { object: user, headers }: Pick<Parse.Cloud.TriggerRequest, 'object' | 'headers'>,
): Promise<void> {
  const ehrId: unknown = user.get('ehrId')
  const caller = createCallerWithoutRoles(false, user, headers?.['x-request-id'])
  if (user.id && typeof ehrId === 'string') await ensureAccountEhr(context, caller, ehrId)
}

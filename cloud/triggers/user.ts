import { isDeepStrictEqual } from 'node:util'
import Parse from 'parse/node'
import { ensureEhrOfAccount } from '../../records/ehrs/ehr.ts'
import { newId } from '../../records/store/documents/ids.ts'
import type { Records } from '../../records/store/writing/transaction.ts'
import { emailAddress } from '../../schemas/account.ts'
import { checkOf } from '../../schemas/registry.ts'
import { OwnUserFields, SERVICE_USER_FIELDS } from '../../schemas/user.ts'
import { identityOf } from '../request/caller.ts'
import { invalid, requireAll } from '../request/refusals.ts'
import { dropAcl } from './values.ts'

const emailFaults = checkOf(emailAddress())
const ownFaults = checkOf(OwnUserFields)

/** What changes of an account when one of these does: the path family's ETag of it is its version. */
const SHOWN = ['email', 'emailVerified', 'name', 'language']

/** Names are compared in lower case; an account names its EHR before either of the two exists. */
export function beforeSaveUser({ object, original, master }: Parse.Cloud.BeforeSaveRequest): void {
  // Parse tells no original when it updates by a token: only a new account has no id.
  const isNew = object.id === undefined
  if (isNew || object.dirty('email')) checkEmail(object)
  for (const name of ['email', 'username'] as const) {
    const value: unknown = object.get(name)
    if (object.dirty(name) && typeof value === 'string') object.set(name, value.toLowerCase())
  }
  if (!master) refuseService(object, original)
  checkOwn(object)
  if (isNew) {
    object.set('ehrId', newId())
    object.set('version', 1)
  } else if (SHOWN.some((name) => object.dirty(name))) object.increment('version')
}

/** Who may see an account and what the service notes of it is not for clients to say. */
function refuseService(object: Parse.Object, original: Parse.Object | undefined): void {
  dropAcl(object)
  const isSame = (name: string) => isDeepStrictEqual(object.get(name), original?.get(name))
  const path = SERVICE_USER_FIELDS.find((name) => object.dirty(name) && !isSame(name))
  if (path) throw invalid({ path, code: 'fixed', message: 'is not for the client to set' })
}

function checkOwn(object: Parse.Object): void {
  const sent = ['name', 'language'].filter((name) => object.dirty(name))
  const own = Object.fromEntries(sent.map((name) => [name, object.get(name)]))
  const faults = ownFaults(JSON.parse(JSON.stringify(own)))
  if (faults.length > 0) throw invalid(...faults)
}

function checkEmail(object: Parse.Object): void {
  const email: unknown = object.get('email')
  requireAll(['email'], { email })
  if (typeof email !== 'string') throw invalid({ path: 'email', code: 'type', message: 'must be a string' })
  if (emailFaults(email).length > 0)
    throw new Parse.Error(Parse.Error.INVALID_EMAIL_ADDRESS, 'Email address format is invalid.')
}

/** Makes the EHR of a new account; should that fail, the first login does it. */
export async function ensureEhr(records: Records, request: Request): Promise<void> {
  const { object: user, headers } = request
  const ehrId: unknown = user.get('ehrId')
  const caller = identityOf(false, user.id, headers?.['x-request-id'])
  if (user.id && typeof ehrId === 'string') await ensureEhrOfAccount(records, caller, ehrId)
}

type Request = Pick<Parse.Cloud.TriggerRequest, 'object' | 'headers'>

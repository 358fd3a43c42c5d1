import Parse from 'parse/node'
import { EmailChanges } from '../../records/accounts/email-changes.ts'
import { ensureEhrOfAccount } from '../../records/ehrs/beginning/of-account.ts'
import { newId } from '../../records/store/documents/ids.ts'
import type { Records } from '../../records/store/writing/transaction.ts'
import { emailAddress } from '../../schemas/account.ts'
import { checkOf } from '../../schemas/registry.ts'
import { identityOf } from '../request/caller.ts'
import { forbidden, invalid, requireAll } from '../request/refusals.ts'

const emailFaults = checkOf(emailAddress())

/** What changes of an account when one of these does: the path family's ETag of it is its version. */
const VERSIONED = ['email', 'emailVerified', 'name', 'language', 'chatMails']

/**
 * What holds of every write of an account that passes Parse Server: the service's own and those with the master key.
 * Clients' requests are answered by the account routes of the gate.
 */
export async function beforeSaveUser(
  records: Records,
  request: Parse.Cloud.BeforeSaveRequest,
): Promise<void> {
  const { object, master, context } = request
  if (!master) throw forbidden('Accounts are written by requests of their own.')
  const isNew = object.id === undefined
  if (isNew || object.dirty('email')) checkEmail(object)
  for (const name of ['email', 'username'] as const) {
    const value: unknown = object.get(name)
    if (object.dirty(name) && typeof value === 'string') object.set(name, value.toLowerCase())
  }
  if (!isNew) return beforeUpdate(records, object)
  const { newId: id } = context as { newId?: string }
  if (id !== undefined) object.id = id
  object.set('ehrId', newId())
  object.set('version', 1)
}

/** Whoever changes the password wants nobody else in: an address that somebody has asked for is not waited for. */
async function beforeUpdate({ db, clock }: Records, object: Parse.Object): Promise<void> {
  if (VERSIONED.some((name) => object.dirty(name))) object.increment('version')
  if (object.id && (object.dirty('password') || object.dirty('email')))
    await new EmailChanges(db, clock).cancel(object.id)
}

function checkEmail(object: Parse.Object): void {
  const email: unknown = object.get('email')
  requireAll(['email'], { email })
  if (typeof email !== 'string') throw invalid({ path: 'email', code: 'type', message: 'must be a string' })
  if (emailFaults(email).length > 0)
    throw new Parse.Error(Parse.Error.INVALID_EMAIL_ADDRESS, 'Email address format is invalid.')
}

/** Makes the EHR of an account at its first login: one that nobody has confirmed holds none. */
export async function ensureEhr(records: Records, { object: user, headers }: Request): Promise<void> {
  const ehrId: unknown = user.get('ehrId')
  const caller = identityOf(false, user.id, headers?.['x-request-id'])
  if (user.id && typeof ehrId === 'string') await ensureEhrOfAccount(records, caller, ehrId)
}

type Request = Pick<Parse.Cloud.TriggerRequest, 'object' | 'headers'>

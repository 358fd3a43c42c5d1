import type Parse from 'parse/node'
import { governsEhr } from '../../records/ehrs/beginning/of-account.ts'
import { isContainer, removeWithAll, takeBack } from '../../records/ehrs/removal/removal.ts'
import { leaveToParse } from '../../records/ehrs/removal/removed.ts'
import type { ClassKind } from '../../records/registered/kind.ts'
import { isPermitted } from '../../records/store/documents/caller.ts'
import type { Records } from '../../records/store/writing/transaction.ts'
import { callerOf } from '../request/caller.ts'
import { forbidden, notFound } from '../request/refusals.ts'
import type { Family } from './create.ts'

/** Removes what hangs on the object. Parse asks about permission to write only later, hence here first. */
export async function beforeDelete(
  { records, announce }: Family,
  { name: className }: ClassKind,
  request: Parse.Cloud.BeforeDeleteRequest,
): Promise<void> {
  const caller = await callerOf(request)
  const { object } = request
  const acl = object.getACL()?.toJSON() ?? {}
  const writers = Object.keys(acl).filter((who) => acl[who]?.write)
  const governs = className === 'Ehr' && governsEhr(caller, object.attributes)
  if (!governs && !isPermitted(writers, caller)) throw notFound()
  if (!governs && className === 'Ehr')
    throw forbidden('Only its subject and administrators may delete an EHR.')
  const id = object.id ?? ''
  const ehrId = className === 'Ehr' ? id : object.get('ehrId')
  await announce(caller, { action: 'delete', collection: className, id, ehrId, changed: [] })
  const by = caller.unrestricted ? undefined : caller.userId
  if (className === 'Ehr') await records.recentRemovals.remember(id, leaveToParse(records, id, by))
  else if (isContainer(className))
    await records.recentRemovals.remember(id, removeWithAll(records, className, id, by))
}

/** What was written into an EHR, a care plan or a goal while that was being removed goes with it. */
export async function afterCreate(records: Records, className: string, object: Parse.Object): Promise<void> {
  const { ehrId, carePlanId, goalId } = object.attributes
  if (await records.recentRemovals.include(ehrId, carePlanId, goalId))
    await takeBack(records, className, object.id ?? '')
}

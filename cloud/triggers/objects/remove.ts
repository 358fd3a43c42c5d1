import type Parse from 'parse/node'
import { governsEhr } from '../../../records/ehrs/beginning/of-account.ts'
import { isContainer, removeWithAll, takeBack } from '../../../records/ehrs/removal/removal.ts'
import { leaveToParse } from '../../../records/ehrs/removal/removed.ts'
import type { ClassKind } from '../../../records/registered/kind.ts'
import { isPermitted } from '../../../records/store/documents/caller.ts'
import type { Records } from '../../../records/store/writing/transaction.ts'
import { callerOf } from '../../request/caller.ts'
import { forbidden, notFound, refuseChange } from '../../request/refusals.ts'
import { permissionsOf, valuesOf } from './attributes.ts'
import { joinOthers, recordOf } from './companion-writes.ts'
import type { Family } from './family.ts'

/** Removes what hangs on the object. Parse asks about permission to write only later, hence here first. */
export async function beforeDelete(
  family: Family,
  kind: ClassKind,
  request: Parse.Cloud.BeforeDeleteRequest,
): Promise<void> {
  const { records, announce } = family
  const { name: className } = kind
  const caller = await callerOf(request)
  const { object } = request
  const permissions = permissionsOf(object)
  const governs = className === 'Ehr' && governsEhr(caller, object.attributes)
  if (!governs && !isPermitted(permissions.write, caller)) throw notFound()
  if (!governs && className === 'Ehr')
    throw forbidden('Only its subject and administrators may delete an EHR.')
  refuseChange(kind, object.attributes)
  const id = object.id ?? ''
  const ehrId = className === 'Ehr' ? id : object.get('ehrId')
  await announce(caller, { action: 'delete', collection: className, id, ehrId })
  if (className === 'Ehr') await records.recentRemovals.remember(id, leaveToParse(records, caller, id))
  else if (isContainer(className))
    await records.recentRemovals.remember(id, removeWithAll(records, caller, className, { id, ehrId }))
  const before = recordOf(kind, id, valuesOf(object))
  await joinOthers(family, kind, caller, { transition: { before, after: null, permissions } })
}

/** What was written into an EHR, a care plan or a goal while that was being removed goes with it. */
export async function afterCreate(
  records: Records,
  className: string,
  { objectId, ehrId, carePlanId, goalId }: Record<string, unknown>,
): Promise<void> {
  if (await records.recentRemovals.include(ehrId, carePlanId, goalId))
    await takeBack(records, className, objectId as string)
}

import type Parse from 'parse/node'
import type { ClassKind } from '../../../records/ehr-records/kind.ts'
import { canManageEhr } from '../../../records/ehrs/creation/account-ehr.ts'
import {
  deleteBeforeParse,
  discardOrphan,
  isContainerClass,
} from '../../../records/ehrs/deletion/cascading-deletion.ts'
import { softDeleteBeforeParse } from '../../../records/ehrs/deletion/deleted-ehrs.ts'
import { isPermitted } from '../../../records/store/documents/caller.ts'
import { mayDelete } from '../../../records/store/write-decider.ts'
import type { StoreContext } from '../../../records/store/writing/transaction.ts'
import { withArticle } from '../../../schemas/common.ts'
import { loadCaller } from '../../request/caller.ts'
import { forbiddenError, notFoundError, rejectForbiddenChange } from '../../request/parse-errors.ts'
import { writeWithDerived } from './derived-writes.ts'
import { permissionsOf, recordOf } from './object-fields.ts'
import type { TriggerContext } from './trigger-context.ts'

/**
 * Deletes dependent records. Parse checks the write permission only later, so this trigger checks it first.
 */
export async function beforeDelete(
  family: TriggerContext,
  kind: ClassKind,
  request: Parse.Cloud.BeforeDeleteRequest,
): Promise<void> {
  const { records, announce } = family
  const { name: className } = kind
  const caller = await loadCaller(request)
  const { object } = request
  const before = recordOf(kind, object)
  const permissions = permissionsOf(object)
  const governs = className === 'Ehr' && canManageEhr(caller, object.attributes)
  if (!governs && !isPermitted(permissions.write, caller)) throw notFoundError()
  if (!governs && !mayDelete(kind, { _id: before.id, _wperm: [...permissions.write] }, caller))
    throw forbiddenError(`Only those who may write the EHR can delete ${withArticle(kind.noun)}.`)
  if (!governs && className === 'Ehr')
    throw forbiddenError('Only the subject of an EHR and administrators can delete it.')
  rejectForbiddenChange(kind, before)
  const { id } = before
  const ehrId = className === 'Ehr' ? id : object.get('ehrId')
  await announce(caller, { action: 'delete', collection: className, id, ehrId })
  if (className === 'Ehr')
    await records.recentRemovals.trackRemoval(id, softDeleteBeforeParse(records, caller, id))
  else if (isContainerClass(className))
    await records.recentRemovals.trackRemoval(
      id,
      deleteBeforeParse(records, caller, className, { id, ehrId }),
    )
  await writeWithDerived(family, kind, caller, { transition: { before, after: null, permissions } })
}

/** Deletes records that were written into an EHR, care plan or goal while it was being deleted. */
export async function removeFromDeletedParent(
  records: StoreContext,
  className: string,
  { objectId, ehrId, carePlanId, goalId }: Record<string, unknown>,
): Promise<void> {
  if (await records.recentRemovals.includesAny(ehrId, carePlanId, goalId))
    await discardOrphan(records, className, objectId as string)
}

import type Parse from 'parse/node'
import type { ClassKind } from '../../../records/ehr-records/kind.ts'
import { canManageEhr } from '../../../records/ehrs/creation/account-ehr.ts'
import { isPermitted } from '../../../records/store/documents/caller.ts'
import { mayDelete } from '../../../records/store/write-decider.ts'
import { withArticle } from '../../../schemas/common.ts'
import { forbiddenWriteError } from '../../parse-server/adapter/trigger-read-cache.ts'
import { loadCaller } from '../../request/caller.ts'
import { forbiddenError, rejectForbiddenChange } from '../../request/parse-errors.ts'
import { permissionsOf, recordOf } from './object-fields.ts'

/** Explains why a caller who reads an object cannot delete it. The write checks the permission again. */
export async function beforeDelete(kind: ClassKind, request: Parse.Cloud.BeforeDeleteRequest): Promise<void> {
  const caller = await loadCaller(request)
  const { object } = request
  const before = recordOf(kind, object)
  const { write } = permissionsOf(object)
  const isEhr = kind.name === 'Ehr'
  const manages = isEhr && canManageEhr(caller, object.attributes)
  if (!manages && !isPermitted(write, caller)) throw forbiddenWriteError()
  if (!manages && !mayDelete(kind, { _id: before.id, _wperm: [...write] }, caller))
    throw forbiddenError(`Only those who may write the EHR can delete ${withArticle(kind.noun)}.`)
  if (!manages && isEhr) throw forbiddenError('Only the subject of an EHR and administrators can delete it.')
  rejectForbiddenChange(kind, before)
}

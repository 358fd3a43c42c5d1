import type Parse from 'parse/node'
import { type ClassKind, resolveRules, type Values } from '../../../records/ehr-records/kind.ts'
import { resolveParent } from '../../../records/ehr-records/parents.ts'
import { validateClassCreate } from '../../../records/ehr-records/record-validation.ts'
import { requireCapacity } from '../../../records/ehr-records/refusals/capacity.ts'
import { ehrCreationQueue, prepareEhrCreation } from '../../../records/ehrs/creation/ehr-creation.ts'
import type { Caller, Permissions } from '../../../records/store/documents/caller.ts'
import { newId } from '../../../records/store/documents/ids.ts'
import type { ParseDocument } from '../../../records/store/documents/parse-format.ts'
import { runStoreTransaction, type StoreContext } from '../../../records/store/writing/transaction.ts'
import { markedFieldNames } from '../../../schemas/forms/fields.ts'
import { clearCachedRoles, loadCaller } from '../../request/caller.ts'
import { rejectFaults, translateServiceErrors } from '../../request/parse-errors.ts'
import { writeWithDerived } from './derived-writes.ts'
import {
  fieldsOf,
  recordOf,
  schemaViolations,
  setFields,
  setPermissions,
  takeOutAcl,
} from './object-fields.ts'
import type { TriggerContext } from './trigger-context.ts'

type BeforeSaveRequest = Parse.Cloud.BeforeSaveRequest

/** Parent and permissions of a new object. */
interface RecordPlacement {
  ehrId: string
  permissions: Permissions
  /** Parent, if it has been looked up. */
  parent?: ParseDocument
}

/** Validates a new object, finds its parent, and sets its system values. */
export async function beforeCreate(
  family: TriggerContext,
  plain: ClassKind,
  request: BeforeSaveRequest,
): Promise<void> {
  const { object } = request
  const aclViolations = takeOutAcl(object)
  const values = fieldsOf(plain, object)
  for (const name of object.dirtyKeys()) if (!(name in values)) object.revert(name)
  const kind = await translateServiceErrors(() => resolveRules(family.records, plain, values))
  const bySchema = [...aclViolations, ...schemaViolations(kind.checks.create, object)]
  rejectFaults(validateClassCreate(kind, values, bySchema))
  const caller = await loadCaller(request)
  // The id is needed before the write: roles, history and audit refer to it.
  const id = newId()
  object.id = id
  const { ehrId, permissions, parent } = await findPlacement(family, kind, request, caller, values)
  object.set({
    ...('ehrId' in kind.place && { ehrId }),
    ...Object.fromEntries(markedFieldNames(kind.fields, 'status').map((name) => [name, 'ACTIVE'])),
    version: 1,
  })
  setFields(kind, object, kind.rules.derived?.(values) ?? {})
  setPermissions(object, permissions)
  await family.announce(caller, { action: 'create', collection: kind.collection, id, ehrId })
  const after = recordOf(kind, object)
  await writeWithDerived(family, kind, caller, { transition: { before: null, after, permissions }, parent })
}

async function findPlacement(
  { records, find }: TriggerContext,
  kind: ClassKind,
  request: BeforeSaveRequest,
  caller: Caller,
  values: Values,
): Promise<RecordPlacement> {
  // The schemas guarantee strings for the properties that the class has.
  const { subjectId, ehrId, carePlanId, goalId } = values as Record<string, string>
  if (subjectId !== undefined) return createEhrForObject(records, request, caller, subjectId)
  const { id = '' } = request.object
  return translateServiceErrors(async () => {
    const place = await resolveParent(find, caller, kind, id, { ehrId, carePlanId, goalId })
    await requireCapacity(records, kind, { ...values, ehrId: place.ehrId, id })
    return place
  })
}

/** Stores the fields that the rules of EHR creation add. */
async function createEhrForObject(
  records: StoreContext,
  request: BeforeSaveRequest,
  caller: Caller,
  subjectId: string,
): Promise<RecordPlacement> {
  const { id = '' } = request.object
  const ehr = { _id: id, subjectId }
  const { permissions, ...kept } = await translateServiceErrors(() =>
    runStoreTransaction(records, (tx) => prepareEhrCreation(records, tx, caller, ehr), {
      queueFor: ehrCreationQueue(caller),
    }),
  )
  request.object.set(kept)
  await clearCachedRoles(request, caller.userId)
  return { ehrId: id, permissions }
}

import type Parse from 'parse/node'
import { closeObject } from '../../../records/care-plans/close-object.ts'
import { type ClassKind, resolveRules } from '../../../records/ehr-records/kind.ts'
import {
  alreadyClosedViolation,
  derivedFieldNames,
  validateClassUpdate,
} from '../../../records/ehr-records/record-validation.ts'
import type { Caller } from '../../../records/store/documents/caller.ts'
import type { StoreContext } from '../../../records/store/writing/transaction.ts'
import { markedFieldNames } from '../../../schemas/forms/fields.ts'
import { loadCaller } from '../../request/caller.ts'
import {
  emptyUpdateError,
  rejectFaults,
  rejectForbiddenChange,
  translateServiceErrors,
  validationError,
} from '../../request/parse-errors.ts'
import { writeWithDerived } from './derived-writes.ts'
import {
  fieldsOf,
  keepChangedFields,
  permissionsOf,
  recordOf,
  schemaViolations,
  setFields,
  storedFieldsOf,
  takeOutAcl,
} from './object-fields.ts'
import type { TriggerContext } from './trigger-context.ts'

type BeforeSaveRequest = Parse.Cloud.BeforeSaveRequest

/** Validates an update and the resulting object. Parse has checked the write permission. */
export async function beforeUpdate(
  family: TriggerContext,
  plain: ClassKind,
  request: BeforeSaveRequest,
): Promise<void> {
  const { records } = family
  const { object, original } = request
  // A body may name another object: `set` would take it for the written one.
  if (object.id !== original?.id) throw validationError(FIXED_ID_VIOLATION)
  const stored = original ? fieldsOf(plain, original) : {}
  if (object.dirtyKeys().length === 0) throw emptyUpdateError()
  rejectForbiddenChange(plain, stored)
  const aclViolations = takeOutAcl(object, original && permissionsOf(original))
  const changed = keepChangedFields(object, original)
  const values = fieldsOf(plain, object)
  const kind = await translateServiceErrors(() => resolveRules(records, plain, stored))
  const bySchema = [...aclViolations, ...schemaViolations(kind.checks.update, object, changed)]
  rejectFaults(validateClassUpdate(kind, values, changed, bySchema))
  setDependentFields(kind, object, values, changed)
  const caller = await loadCaller(request)
  const violations = kind.reservedViolations?.(caller, { ...stored, id: object.id }, values) ?? []
  rejectFaults({ missing: [], violations })
  const { id = '' } = object
  if (markedFieldNames(kind.fields, 'status').some((name) => changed.includes(name))) {
    await closeRecord(records, caller, kind.name as ClosableClass, object, changed)
    return family.joinWrite(kind.name, id, (save) => save())
  }
  object.increment('version')
  const transition = {
    before: { ...stored, id },
    after: recordOf(kind, object),
    permissions: permissionsOf(object),
  }
  await writeWithDerived(family, kind, caller, { transition, changed, version: stored.version })
}

const FIXED_ID_VIOLATION = { path: 'objectId', code: 'fixed', message: 'cannot be changed' }

/** Writes dependent fields together, including derived ones. */
function setDependentFields(
  kind: ClassKind,
  object: Parse.Object,
  values: Record<string, unknown>,
  changed: readonly string[],
): void {
  const { dependentFields, fixedDerived = [] } = kind.rules
  if (!dependentFields.some((name) => changed.includes(name))) return
  for (const name of dependentFields)
    if (name in values) object.set(name, object.get(name))
    else object.unset(name)
  for (const name of derivedFieldNames(kind)) object.unset(name)
  setFields(kind, object, kind.rules.derived?.(values) ?? {})
  for (const name of fixedDerived) object.revert(name)
}

/** Closable records. */
type ClosableClass = 'CarePlan' | 'Goal' | 'Task'

/**
 * Closes a record. Its status leaves ACTIVE once, so the whole update is written here in a transaction that
 * only one of two concurrent requests passes. Parse then writes an update without changes.
 */
async function closeRecord(
  records: StoreContext,
  caller: Caller,
  className: ClosableClass,
  object: Parse.Object,
  changed: readonly string[],
): Promise<void> {
  const id = object.id ?? ''
  const fields = storedFieldsOf(object, changed)
  const version = await closeObject(records, caller, { className, id, ehrId: object.get('ehrId'), fields })
  if (version === undefined) throw validationError(alreadyClosedViolation)
  for (const name of object.dirtyKeys()) object.revert(name)
  object.increment('version', 0)
}

import type Parse from 'parse/node'
import { type ClassKind, resolveRules } from '../../../records/ehr-records/kind.ts'
import { closedRecordViolations } from '../../../records/ehr-records/refusals/closed-records.ts'
import { validateClassUpdate } from '../../../records/ehr-records/validation/record-validation.ts'
import { requireExpectedVersion } from '../../../records/store/write-decider.ts'
import type { StoreContext } from '../../../records/store/writing/transaction.ts'
import type { ObjectWriteRequest } from '../../parse-server/adapter/request/request-database.ts'
import { loadCaller } from '../../request/caller.ts'
import {
  notFoundError,
  rejectFaults,
  rejectForbiddenChange,
  translateServiceErrors,
  validationError,
} from '../../request/parse-errors.ts'
import { fieldsOf, keepChangedFields, permissionsOf, schemaViolations, takeOutAcl } from './object-fields.ts'

type BeforeSaveRequest = Parse.Cloud.BeforeSaveRequest

/**
 * Validates an update and the resulting object. Parse has checked the write permission. The write applies the client's
 * operations to the object that its transaction sees, and decides again.
 */
export async function beforeUpdate(
  records: StoreContext,
  plain: ClassKind,
  request: BeforeSaveRequest,
): Promise<void> {
  const { object, original } = request
  // A body may name another object: `set` would take it for the written one.
  if (object.id !== original?.id) throw validationError(FIXED_ID_VIOLATION)
  // It did not exist when Parse read it: a concurrent request has restored it since.
  if (original?.createdAt === undefined) throw notFoundError()
  const stored = original ? fieldsOf(plain, original) : {}
  rejectForbiddenChange(plain, stored)
  // The body may repeat a former version of the whole object, with values that only the service changes.
  const { write } = (request.context ?? {}) as { write?: ObjectWriteRequest }
  await translateServiceErrors(
    async () => requireExpectedVersion(write?.expected, Number(stored.version)),
    write?.tellVersion,
  )
  const aclViolations = takeOutAcl(object, original && permissionsOf(original))
  const changed = keepChangedFields(object, original)
  const values = fieldsOf(plain, object)
  const kind = await translateServiceErrors(() => resolveRules(records, plain, stored))
  const bySchema = [...aclViolations, ...schemaViolations(kind.checks.update, object, changed)]
  rejectFaults(validateClassUpdate(kind, values, changed, bySchema))
  const caller = await loadCaller(request)
  const violations = [
    ...(kind.reservedViolations?.(caller, { ...stored, id: object.id }, values) ?? []),
    ...closedRecordViolations(kind.fields, stored, changed),
  ]
  rejectFaults({ missing: [], violations })
}

const FIXED_ID_VIOLATION = { path: 'objectId', code: 'fixed', message: 'cannot be changed' }

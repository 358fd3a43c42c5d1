import { isDeepStrictEqual } from 'node:util'
import type Parse from 'parse/node'
import { type ClassKind, resolveRules, type Values } from '../../../records/ehr-records/kind.ts'
import { closedRecordViolations } from '../../../records/ehr-records/refusals/closed-records.ts'
import { withoutNulls } from '../../../records/ehr-records/validation/record-bodies.ts'
import { validateClassUpdate } from '../../../records/ehr-records/validation/record-validation.ts'
import { isPermitted } from '../../../records/store/documents/caller.ts'
import { requireExpectedVersion } from '../../../records/store/write-decider.ts'
import type { StoreContext } from '../../../records/store/writing/transaction.ts'
import { fromAcl, fromClassForm } from '../../../schemas/forms/class-form.ts'
import { invalidPropertyNames, type Violation } from '../../../schemas/validation/violations.ts'
import type { UpdateContext } from '../../parse-server/object-writes.ts'
import { loadCaller } from '../../request/caller.ts'
import {
  forbiddenWriteError,
  notFoundError,
  rejectFaults,
  translateServiceErrors,
  validationError,
} from '../../request/parse-errors.ts'
import { applyUpdate, computedFieldNames, pickValues, rootOf } from '../../writes/apply-update.ts'
import { aclViolations, ownProperties } from './own-properties.ts'

/**
 * Validates an update and the resulting object. The write applies the client's operations to the object that its
 * transaction sees, and decides again.
 * @returns the changes to write. Parse itself would write the whole object of which a part changes, and lose the other
 * parts that have changed since.
 */
export async function beforeUpdate(
  records: StoreContext,
  plain: ClassKind,
  request: Parse.Cloud.BeforeSaveRequest,
): Promise<{ object: Values }> {
  const { sent, stored, write } = request.context as unknown as UpdateContext
  const caller = await loadCaller(request)
  const permissions = fromAcl(stored.ACL ?? {})
  if (!isPermitted(permissions.write, caller))
    throw isPermitted(permissions.read, caller) ? forbiddenWriteError() : notFoundError()
  // A body may name another object, which Parse would take for the written one.
  for (const id of [sent.objectId, sent.id])
    if (id !== undefined && id !== stored.objectId) throw validationError(FIXED_ID_VIOLATION)
  const before = fromClassForm(plain.fields, withoutNulls(ownProperties(stored)))
  const record = { ...before, id: stored.objectId }
  await translateServiceErrors(async () => {
    plain.refuseChange?.(record as never)
    // The body may repeat a former version of the whole object, with values that only the service changes.
    requireExpectedVersion(write.expected, Number(before.version))
  }, write.tellVersion)
  const { object, changed, next, violations: bySchema } = judgeUpdate(plain, before, ownProperties(sent))
  const kind = await translateServiceErrors(() => resolveRules(records, plain, record))
  const ofAcl = aclViolations(sent.ACL, permissions)
  rejectFaults(validateClassUpdate(kind, next, changed, [...ofAcl, ...bySchema]))
  const violations = [
    ...(kind.reservedViolations?.(caller, record, next) ?? []),
    ...closedRecordViolations(kind.fields, record, changed),
  ]
  rejectFaults({ missing: [], violations })
  return { object }
}

const FIXED_ID_VIOLATION = { path: 'objectId', code: 'fixed', message: 'cannot be changed' }

interface JudgedUpdate {
  /** The update, without values that clients cannot set and that are those of the stored object. */
  object: Values
  /** Names of the properties that it changes. */
  changed: string[]
  /** The resulting record. */
  next: Values
  violations: Violation[]
}

/** Clients may send back the whole object, with its fixed and derived properties. */
function judgeUpdate({ checks, fields }: ClassKind, before: Values, update: Values): JudgedUpdate {
  const changes = fromClassForm(fields, update)
  const next = withoutNulls(applyUpdate(before, changes))
  const names = [...new Set(Object.keys(update).map(rootOf))]
  const changed = names.filter((name) => !isDeepStrictEqual(next[name], before[name]))
  const repeated = names.filter((name) => !changed.includes(name))
  const computed = computedFieldNames(update)
  const sent = Object.entries(withoutNulls(update)).filter(([name]) => !computed.includes(rootOf(name)))
  // No date is computed, so this is the class form of all that the update names.
  const results = { ...Object.fromEntries(sent), ...pickValues(next, computed) }
  const unwritable = invalidPropertyNames(checks.update(pickValues(results, repeated)))
  const kept = Object.entries(changes).filter(([name]) => !unwritable.has(rootOf(name)))
  return {
    object: Object.fromEntries(kept),
    changed,
    next,
    violations: checks.update(pickValues(results, changed)),
  }
}

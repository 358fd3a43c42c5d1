import { isDeepStrictEqual } from 'node:util'
import type Parse from 'parse/node'
import { type ClassKind, resolveRules } from '../../../records/ehr-records/kind.ts'
import { closedRecordViolations } from '../../../records/ehr-records/refusals/closed-records.ts'
import { withoutNulls } from '../../../records/ehr-records/validation/record-bodies.ts'
import { validateClassUpdate } from '../../../records/ehr-records/validation/record-validation.ts'
import { isPermitted } from '../../../records/store/documents/caller.ts'
import { requireExpectedVersion } from '../../../records/store/write-decider.ts'
import type { StoreContext } from '../../../records/store/writing/transaction.ts'
import { fromAcl, fromClassForm } from '../../../schemas/forms/class-form.ts'
import { invalidPropertyNames, type Violation } from '../../../schemas/validation/violations.ts'
import type { UpdateContext } from '../../parse-server/adapter/object-updates.ts'
import { loadCaller } from '../../request/caller.ts'
import {
  forbiddenWriteError,
  notFoundError,
  rejectFaults,
  translateServiceErrors,
  validationError,
} from '../../request/parse-errors.ts'
import { applyUpdate, pickValues, rootOf } from '../../writes/apply-update.ts'
import { aclViolations, ownProperties } from './object-fields.ts'

type ClassForm = Record<string, unknown>

/**
 * Validates an update and the resulting object. The write applies the client's operations to the object that its
 * transaction sees, and decides again.
 * @returns what Parse writes: the client's operations. Parse itself would write the whole object of which a part
 * changes, and lose the other parts that have changed since.
 */
export async function beforeUpdate(
  records: StoreContext,
  plain: ClassKind,
  request: Parse.Cloud.BeforeSaveRequest,
): Promise<{ object: ClassForm }> {
  const { sent, stored: whole, write } = request.context as unknown as UpdateContext
  const caller = await loadCaller(request)
  const permissions = fromAcl(whole.ACL ?? {})
  if (!isPermitted(permissions.write, caller))
    throw isPermitted(permissions.read, caller) ? forbiddenWriteError() : notFoundError()
  // A body may name another object, which Parse would take for the written one.
  for (const id of [sent.objectId, sent.id])
    if (id !== undefined && id !== whole.objectId) throw validationError(FIXED_ID_VIOLATION)
  const update = ownProperties(sent)
  const stored = withoutNulls(ownProperties(whole))
  const before = { ...fromClassForm(plain.fields, stored), id: whole.objectId }
  await translateServiceErrors(async () => {
    plain.refuseChange?.(before as never)
    // The body may repeat a former version of the whole object, with values that only the service changes.
    requireExpectedVersion(write?.expected, Number(stored.version))
  }, write?.tellVersion)
  const { object, changed, next, violations: ofUpdate } = judgeUpdate(plain, stored, update)
  const ofAcl = sent.ACL === undefined ? [] : aclViolations(fromAcl(sent.ACL), permissions)
  const values = fromClassForm(plain.fields, next)
  const kind = await translateServiceErrors(() => resolveRules(records, plain, before))
  rejectFaults(validateClassUpdate(kind, values, changed, [...ofAcl, ...ofUpdate]))
  const violations = [
    ...(kind.reservedViolations?.(caller, before, values) ?? []),
    ...closedRecordViolations(kind.fields, before, changed),
  ]
  rejectFaults({ missing: [], violations })
  return { object }
}

const FIXED_ID_VIOLATION = { path: 'objectId', code: 'fixed', message: 'cannot be changed' }

interface JudgedUpdate {
  /** The update, without values that clients cannot set and that are those of the stored object. */
  object: ClassForm
  /** Names of the properties that it changes. */
  changed: string[]
  /** The resulting object. */
  next: ClassForm
  violations: Violation[]
}

/** Clients may send back the whole object, with its fixed and derived properties. */
function judgeUpdate({ checks }: ClassKind, stored: ClassForm, update: ClassForm): JudgedUpdate {
  const next = withoutNulls(applyUpdate(stored, update))
  const names = [...new Set(Object.keys(update).map(rootOf))]
  const changed = names.filter((name) => !isDeepStrictEqual(next[name], stored[name]))
  const repeated = names.filter((name) => !changed.includes(name))
  const unwritable = invalidPropertyNames(checks.update(pickValues(next, repeated)))
  const kept = Object.entries(update).filter(([name]) => !unwritable.has(rootOf(name)))
  return {
    object: Object.fromEntries(kept),
    changed,
    next,
    violations: checks.update(pickValues(next, changed)),
  }
}

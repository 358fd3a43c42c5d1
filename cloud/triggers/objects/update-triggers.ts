import { isDeepStrictEqual } from 'node:util'
import type Parse from 'parse/node'
import { type ClassKind, resolveRules, type Values } from '../../../records/ehr-records/kind.ts'
import { withoutNulls } from '../../../records/ehr-records/validation/record-bodies.ts'
import { validateClassUpdate } from '../../../records/ehr-records/validation/record-validation.ts'
import type { StoreContext } from '../../../records/store/writing/transaction.ts'
import { fromClassForm } from '../../../schemas/forms/class-form.ts'
import { invalidPropertyNames } from '../../../schemas/validation/violations.ts'
import type { UpdateContext } from '../../parse-server/object-writes.ts'
import { rejectFaults, translateServiceErrors, validationError } from '../../request/parse-errors.ts'
import { applyUpdate, computedFieldNames, pickValues, rootOf } from '../../writes/apply-update.ts'
import {
  aclViolations,
  deletedNameViolations,
  FIXED_ID_VIOLATION,
  ownProperties,
  timeViolations,
} from './own-properties.ts'

/**
 * Validates an update and the resulting object, whose rights and version the store has checked. The write applies the
 * client's operations to the object that its transaction sees, and decides again.
 * @returns the changes to write. Parse itself would write the whole object of which a part changes, and lose the other
 * parts that have changed since.
 */
export async function beforeUpdate(
  storeContext: StoreContext,
  plain: ClassKind,
  { context, user }: Parse.Cloud.BeforeSaveRequest,
): Promise<{ object: Values }> {
  const { sent, stored } = context as unknown as UpdateContext
  // A body may name another object, which Parse would take for the written one.
  for (const id of [sent.objectId, sent.id])
    if (id !== undefined && id !== stored.objectId) throw validationError(FIXED_ID_VIOLATION)
  const before = fromClassForm(plain.fields, withoutNulls(ownProperties(stored)))
  const { object, changed, next, violations } = judgeUpdate(plain, before, ownProperties(sent))
  const kind = await translateServiceErrors(() => resolveRules(storeContext, plain, before))
  const ofAcl = aclViolations(sent.ACL, stored.ACL ?? {}, user?.id)
  const ofTimes = timeViolations(sent, stored)
  rejectFaults(validateClassUpdate(kind, next, changed, [...ofAcl, ...ofTimes, ...violations]))
  return { object }
}

/**
 * Clients may send back the whole object, with its fixed and derived properties.
 * @returns the update without values that clients cannot set and that are those of the stored object; the names of the
 * properties that it changes; and the resulting record
 */
function judgeUpdate({ checks, fields }: ClassKind, before: Values, update: Values) {
  const changes = fromClassForm(fields, update)
  const next = withoutNulls(applyUpdate(before, changes))
  const names = [...new Set(Object.keys(update).map(rootOf))]
  const changedNames = names.filter((name) => !isDeepStrictEqual(next[name], before[name]))
  const repeatedNames = names.filter((name) => !changedNames.includes(name))
  const computedNames = computedFieldNames(update)
  const entries = Object.entries(withoutNulls(update)).filter(
    ([name]) => !computedNames.includes(rootOf(name)),
  )
  // No date is computed, so this is the class form of all that the update names.
  const results = { ...Object.fromEntries(entries), ...pickValues(next, computedNames) }
  const unwritable = invalidPropertyNames(checks.update(pickValues(results, repeatedNames)))
  const writable = Object.entries(changes).filter(([name]) => !unwritable.has(rootOf(name)))
  return {
    object: Object.fromEntries(writable),
    changed: changedNames,
    next,
    violations: [
      ...checks.update(pickValues(results, changedNames)),
      ...deletedNameViolations(update, next, checks.update),
    ],
  }
}

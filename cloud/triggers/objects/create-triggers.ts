import type Parse from 'parse/node'
import { type ClassKind, resolveRules, type Values } from '../../../records/ehr-records/kind.ts'
import type { FindEhrId } from '../../../records/ehr-records/parents/parents.ts'
import { withoutNulls } from '../../../records/ehr-records/validation/record-bodies.ts'
import { validateClassCreate } from '../../../records/ehr-records/validation/record-validation.ts'
import type { StoreContext } from '../../../records/store/writing/transaction.ts'
import { fromClassForm } from '../../../schemas/forms/class-form.ts'
import type { WriteContext } from '../../parse-server/object-writes.ts'
import { notFoundError, rejectFaults, translateServiceErrors } from '../../request/parse-errors.ts'
import { applyUpdate } from '../../writes/apply-update.ts'
import { aclViolations, deletedNameViolations, ownProperties } from './own-properties.ts'

/**
 * Validates a new object, and fills in the EHR of its care plan. The write checks the parents under their lock, copies
 * their permissions, and derives the other fields.
 * @returns the fields to write
 */
export async function beforeCreate(
  storeContext: StoreContext,
  findEhrId: FindEhrId,
  plain: ClassKind,
  { context }: Parse.Cloud.BeforeSaveRequest,
): Promise<{ object: Values }> {
  const { sent } = context as unknown as WriteContext
  const body = ownProperties(sent)
  const object = withoutNulls(applyUpdate({}, body))
  const values = fromClassForm(plain.fields, object)
  const kind = await translateServiceErrors(() => resolveRules(storeContext, plain, values))
  const { create: check } = kind.checks
  const ofDeletedNames = deletedNameViolations(body, object, check)
  rejectFaults(
    validateClassCreate(kind, values, [...aclViolations(sent.ACL), ...check(object), ...ofDeletedNames]),
  )
  if (!('ehrId' in kind.parentIds) || values.ehrId !== undefined) return { object: values }
  const ehrId = await findEhrId(String(values.carePlanId))
  if (ehrId === undefined) throw notFoundError()
  return { object: { ...values, ehrId } }
}

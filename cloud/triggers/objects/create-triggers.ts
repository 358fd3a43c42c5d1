import { LRUCache } from 'lru-cache'
import type Parse from 'parse/node'
import { type ClassKind, resolveRules, type Values } from '../../../records/ehr-records/kind.ts'
import { withoutNulls } from '../../../records/ehr-records/validation/record-bodies.ts'
import { validateClassCreate } from '../../../records/ehr-records/validation/record-validation.ts'
import type { StoreContext } from '../../../records/store/writing/transaction.ts'
import { fromClassForm } from '../../../schemas/forms/class-form.ts'
import type { WriteContext } from '../../parse-server/object-writes.ts'
import { notFoundError, rejectFaults, translateServiceErrors } from '../../request/parse-errors.ts'
import { applyUpdate } from '../../writes/apply-update.ts'
import { aclViolations, ownProperties } from './own-properties.ts'

const MAX_KNOWN_PLANS = 10_000

/**
 * Validates a new object, and fills in the EHR of its care plan. The write checks the parents under their lock, copies
 * their permissions, and derives the other fields.
 * @returns the fields to write
 */
export async function beforeCreate(
  records: StoreContext,
  findEhrId: ReturnType<typeof createEhrFinder>,
  plain: ClassKind,
  { context }: Parse.Cloud.BeforeSaveRequest,
): Promise<{ object: Values }> {
  const { sent } = context as unknown as WriteContext
  const object = withoutNulls(applyUpdate({}, ownProperties(sent)))
  const values = fromClassForm(plain.fields, object)
  const kind = await translateServiceErrors(() => resolveRules(records, plain, values))
  rejectFaults(validateClassCreate(kind, values, [...aclViolations(sent.ACL), ...kind.checks.create(object)]))
  if (!('ehrId' in kind.place) || values.ehrId !== undefined) return { object: values }
  return { object: { ...values, ehrId: await findEhrId(String(values.carePlanId)) } }
}

/** Finds the EHR of a care plan, which never changes. Whether the caller may write into it is checked with the write. */
export function createEhrFinder(
  find: (carePlanId: string) => Promise<string | undefined>,
): (carePlanId: string) => Promise<string> {
  const known = new LRUCache<string, string>({ max: MAX_KNOWN_PLANS })
  return async (carePlanId) => {
    const ehrId = known.get(carePlanId) ?? (await find(carePlanId))
    if (ehrId === undefined) throw notFoundError()
    known.set(carePlanId, ehrId)
    return ehrId
  }
}

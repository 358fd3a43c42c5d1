import { LRUCache } from 'lru-cache'
import type Parse from 'parse/node'
import { type ClassKind, resolveRules } from '../../../records/ehr-records/kind.ts'
import { validateClassCreate } from '../../../records/ehr-records/validation/record-validation.ts'
import type { StoreContext } from '../../../records/store/writing/transaction.ts'
import { fromClassForm } from '../../../schemas/forms/class-form.ts'
import { notFoundError, rejectFaults, translateServiceErrors } from '../../request/parse-errors.ts'
import { aclViolations, classFormOf, permissionsOf } from './object-fields.ts'

const MAX_KNOWN_PLANS = 10_000

type BeforeSaveRequest = Parse.Cloud.BeforeSaveRequest

/**
 * Validates a new object, and fills in the EHR of its care plan. The write checks the parents under their lock, copies
 * their permissions, and derives the other fields.
 */
export async function beforeCreate(
  records: StoreContext,
  findEhrId: ReturnType<typeof createEhrFinder>,
  plain: ClassKind,
  { object }: BeforeSaveRequest,
): Promise<void> {
  const sent = classFormOf(object)
  const values = fromClassForm(plain.fields, sent)
  const names = object.dirtyKeys()
  for (const name of names) if (!Object.hasOwn(values, name)) object.revert(name)
  const kind = await translateServiceErrors(() => resolveRules(records, plain, values))
  const ofAcl = names.includes('ACL') ? aclViolations(permissionsOf(object)) : []
  const bySchema = [...ofAcl, ...kind.checks.create(sent)]
  rejectFaults(validateClassCreate(kind, values, bySchema))
  if ('ehrId' in kind.place && values.ehrId === undefined)
    object.set('ehrId', await findEhrId(String(values.carePlanId)))
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

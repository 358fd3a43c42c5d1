import type { ClientSession } from 'mongodb'
import type { Violation } from '../../../schemas/validation/violations.ts'
import { documentCollection } from '../../store/documents/database.ts'
import type { ClassKind, DefinitionLookup, Values } from '../kind.ts'
import { requireNoViolations } from './refusals.ts'

type LimitedKind = Pick<ClassKind, 'collection' | 'noun' | 'maxCount' | 'quota'>

/** The number of records is limited, so they are counted under the exclusive lock of the EHR. */
export const hasCapacityLimit = ({ maxCount, quota }: Pick<LimitedKind, 'maxCount' | 'quota'>): boolean =>
  maxCount !== undefined || quota !== undefined

/**
 * @param values the new record with its id, which has returned, or an earlier attempt of the same request may have created
 * @throws ServiceError when the kind takes no further record
 */
export async function requireCapacity(
  context: DefinitionLookup,
  kind: LimitedKind,
  values: Values,
  session?: ClientSession,
): Promise<void> {
  requireNoViolations(await capacityViolations(context, kind, values, session))
  const [refusal] = (await kind.quota?.refuse(context, [values], session)) ?? []
  if (refusal) throw refusal
}

/** Violation when the care plan or goal is full; closed records count, too. */
async function capacityViolations(
  context: DefinitionLookup,
  { collection, noun, maxCount }: LimitedKind,
  { id, ...parentIds }: Values,
  session?: ClientSession,
): Promise<Violation[]> {
  if (!maxCount) return []
  const siblingFilter = { [maxCount.parentField]: parentIds[maxCount.parentField], _id: { $ne: String(id) } }
  const options = { limit: maxCount.count, ...(session && { session }) }
  const count = await documentCollection(context, collection).countDocuments(siblingFilter, options)
  if (count < maxCount.count) return []
  const container = maxCount.parentField === 'carePlanId' ? 'care plan' : 'goal'
  const message = `must be another ${container}: this one already has ${maxCount.count} ${noun}s, the maximum`
  return [{ path: maxCount.parentField, code: 'full', message }]
}

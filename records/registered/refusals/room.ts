import type { ClientSession } from 'mongodb'
import type { Violation } from '../../../schemas/violation.ts'
import { documentsOf } from '../../store/documents/database.ts'
import type { ClassKind, Definitions, Values } from '../kind.ts'
import { refuseViolations } from './refusals.ts'

type Limits = Pick<ClassKind, 'collection' | 'noun' | 'most' | 'admission'>

/** Whether there may be only so many of a kind: they are counted in their EHR's turn. */
export const isLimited = ({ most, admission }: Pick<Limits, 'most' | 'admission'>): boolean =>
  most !== undefined || admission !== undefined

/**
 * @param values of the new record, with its id: an earlier attempt of the same request may have made it already
 * @throws what forbids one more of a kind
 */
export async function requireRoom(
  records: Definitions,
  kind: Limits,
  values: Values,
  session?: ClientSession,
): Promise<void> {
  refuseViolations(await crowding(records, kind, values, session))
  const [refusal] = (await kind.admission?.(records, [values], session)) ?? []
  if (refusal) throw refusal
}

/** What forbids one more of a kind of which a care plan or a goal takes only so many, closed ones included. */
async function crowding(
  records: Definitions,
  { collection, noun, most }: Limits,
  { id, ...place }: Values,
  session?: ClientSession,
): Promise<Violation[]> {
  if (!most) return []
  const siblings = { [most.of]: place[most.of] }
  const documents = documentsOf(records, collection)
  const options = session ? { session } : {}
  if ((await documents.countDocuments(siblings, { limit: most.count, ...options })) < most.count) return []
  if (id !== undefined && (await documents.findOne({ _id: String(id), ...siblings }, options))) return []
  const container = most.of === 'carePlanId' ? 'care plan' : 'goal'
  const message = `names a ${container} that already has ${most.count} ${noun}s, the maximum`
  return [{ path: most.of, code: 'full', message }]
}

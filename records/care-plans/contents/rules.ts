import type { ClientSession } from 'mongodb'
import type { ClassName } from '../../../schemas/classes.ts'
import type { Violation } from '../../../schemas/violation.ts'
import { type Database, documentsOf } from '../../store/documents/database.ts'

/** Goals in a care plan, and tasks in a goal, closed ones included: a plan can be read as a whole. */
const MOST_IN = { CarePlan: 100, Goal: 100 } as const

/** A status leaves ACTIVE once. */
export const alreadyClosed: Violation = {
  path: 'status',
  code: 'closed',
  message: 'can no longer change: it is closed',
}

/** Nothing is registered in what is closed. */
export const isClosed = (container: 'CarePlan' | 'Goal'): Violation => ({
  path: container === 'CarePlan' ? 'carePlanId' : 'goalId',
  code: 'closed',
  message: `names a ${container === 'CarePlan' ? 'care plan' : 'goal'} that is closed`,
})

/**
 * What forbids one more goal in this care plan, or one more task of this goal.
 * @param id of the new one: an earlier attempt of the same request may have made it already
 */
export async function crowding(
  database: Database,
  className: ClassName,
  { id, carePlanId, goalId }: { id?: string; carePlanId: string; goalId?: string | undefined },
  session?: ClientSession,
): Promise<Violation[]> {
  if (className !== 'Goal' && className !== 'Task') return []
  const [path, container, siblings] =
    className === 'Goal'
      ? (['carePlanId', 'CarePlan', { carePlanId }] as const)
      : (['goalId', 'Goal', { goalId }] as const)
  const limit = MOST_IN[container]
  const documents = documentsOf(database, className)
  const options = session ? { session } : {}
  if ((await documents.countDocuments(siblings, { limit, ...options })) < limit) return []
  if (id !== undefined && (await documents.findOne({ _id: id, ...siblings }, options))) return []
  const message = `names a ${className === 'Goal' ? 'care plan with' : 'goal with'} ${limit} ${className.toLowerCase()}s: no more fit`
  return [{ path, code: 'full', message }]
}

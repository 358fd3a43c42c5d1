import type { ClientSession, Filter } from 'mongodb'
import { type Database, documentCollection } from '../../store/documents/database.ts'
import type { ParseDocument } from '../../store/documents/parse-format.ts'

/** The users who are to care for an alert. */
const OWNER_FIELDS = ['takenBy', 'assignedTo', 'assignedFor'] as const

/**
 * Has the rules of the care plans applied again to the open alerts of a user, in one plan or in all. Call it when the
 * user may no longer care for them, or somebody else may in their place.
 */
export async function reviewAlertsOf(
  database: Pick<Database, 'db'>,
  session: ClientSession,
  userId: string,
  { carePlanId, at }: { carePlanId?: string; at?: Date } = {},
): Promise<void> {
  const inPlan = carePlanId !== undefined && { carePlanId }
  for (const field of OWNER_FIELDS)
    await reviewOpenAlerts(database, session, { [field]: userId, ...inPlan }, at)
}

/** Has the rules applied again to the open alerts of a care plan that nobody cares for, since somebody new may. */
export const reviewOwnerlessAlerts = (
  database: Pick<Database, 'db'>,
  session: ClientSession,
  carePlanId: string,
): Promise<void> => reviewOpenAlerts(database, session, { carePlanId, takenBy: null, assignedTo: null })

/** Has the rules applied again to the open alerts of a care plan that returns: the rights of their owners may have ended. */
export const reviewAlertsOfPlan = (
  database: Pick<Database, 'db'>,
  session: ClientSession,
  carePlanId: string,
): Promise<void> => reviewOpenAlerts(database, session, { carePlanId })

async function reviewOpenAlerts(
  database: Pick<Database, 'db'>,
  session: ClientSession,
  where: Filter<ParseDocument>,
  at = new Date(),
): Promise<void> {
  const open = { ...where, urgency: { $gte: 0 } }
  await documentCollection(database, 'Event').updateMany(open, { $set: { attentionAt: at } }, { session })
}

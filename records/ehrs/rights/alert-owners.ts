import type { ClientSession } from 'mongodb'
import { type Database, documentCollection } from '../../store/documents/database.ts'

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
  { carePlanId, at = new Date() }: { carePlanId?: string; at?: Date } = {},
): Promise<void> {
  const alerts = documentCollection(database, 'Event')
  const open = { urgency: { $gte: 0 }, ...(carePlanId !== undefined && { carePlanId }) }
  for (const field of OWNER_FIELDS)
    await alerts.updateMany({ [field]: userId, ...open }, { $set: { attentionAt: at } }, { session })
}

/** Has the rules applied again to the open alerts of a care plan that nobody cares for, since somebody new may. */
export async function reviewOwnerlessAlerts(
  database: Pick<Database, 'db'>,
  session: ClientSession,
  carePlanId: string,
): Promise<void> {
  const ownerless = { carePlanId, urgency: { $gte: 0 }, takenBy: null, assignedTo: null }
  const change = { $set: { attentionAt: new Date() } }
  await documentCollection(database, 'Event').updateMany(ownerless, change, { session })
}

/** Has the rules applied again to the open alerts of a care plan that returns: the rights of their owners may have ended. */
export async function reviewAlertsOfPlan(
  database: Pick<Database, 'db'>,
  session: ClientSession,
  carePlanId: string,
): Promise<void> {
  const change = { $set: { attentionAt: new Date() } }
  await documentCollection(database, 'Event').updateMany({ carePlanId, urgency: { $gte: 0 } }, change, {
    session,
  })
}

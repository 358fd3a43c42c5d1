import { type ChatSubjectType, RELATED_RECORD_FIELD_NAMES } from '../../schemas/chat/chat.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { networkRole } from '../ehrs/rights/access.ts'
import { findAnonymizedEhrs } from '../ehrs/rights/anonymity.ts'
import { type Caller, type Permissions, permissionFilter } from '../store/documents/caller.ts'
import { documentCollection } from '../store/documents/database.ts'
import { fromStoredPermissions } from '../store/documents/parse-format.ts'
import { accessWithoutRecords } from '../store/resource.ts'
import type { StoreContext } from '../store/writing/transaction.ts'

const SUBJECT_COLLECTIONS: Readonly<Partial<Record<ChatSubjectType, string>>> = {
  careplan: 'CarePlan',
  goal: 'Goal',
  task: 'Task',
  event: 'Event',
  ehr: 'Ehr',
}

/** The subject of a topic, as seen by a caller who may see it. */
export interface ChatSubject {
  about: ChatSubjectType
  aboutId: string
  /** Absent between two users. */
  ehrId?: string
  carePlanId?: string
  /** The ids of goal, task and event that the messages relate to, by field. */
  goesWith?: Readonly<Record<string, string>>
  /** The users who may read and write. */
  permissions: Permissions
  /** Whether participants stay anonymous. */
  isAnonymous: boolean
}

interface ConnectionCheck {
  areConnected(mvUid: string, other: string): Promise<boolean>
}

/** @throws NotFound, after an entry in the audit of the EHR, if the caller may not see the subject */
export async function requireChatSubject(
  ...lookup: Parameters<typeof findChatSubject>
): Promise<ChatSubject> {
  const subject = await findChatSubject(...lookup)
  if (subject) return subject
  await recordDenial(...lookup)
  throw new ServiceError('NotFound')
}

async function recordDenial(
  ...[context, _, caller, about, id]: Parameters<typeof findChatSubject>
): Promise<void> {
  const collection = SUBJECT_COLLECTIONS[about]
  if (collection === undefined) return
  const record = await documentCollection(context, collection).findOne(
    { _id: id },
    { projection: { ehrId: 1 } },
  )
  const resource = { collection, ehr: about === 'ehr' ? 'id' : 'ehrId' } as const
  const denial = { action: 'read', outcome: 'denied' } as const
  const target = { id, ehrId: record?.ehrId }
  if (record) await context.audit.record(...accessWithoutRecords(resource, caller, denial, target))
}

/** @returns undefined if the caller may not see the subject */
export async function findChatSubject(
  context: StoreContext,
  connections: ConnectionCheck,
  caller: Caller,
  type: ChatSubjectType,
  id: string,
): Promise<ChatSubject | undefined> {
  const collection = SUBJECT_COLLECTIONS[type]
  if (collection === undefined) return findNetworkSubject(connections, caller, id)
  const record = await documentCollection(context, collection).findOne(
    { _id: id, ...permissionFilter('_rperm', caller) },
    { projection: { ehrId: 1, carePlanId: 1, goalId: 1, anonymous: 1, _rperm: 1, _wperm: 1 } },
  )
  if (!record) return undefined
  const ehrId = type === 'ehr' ? id : String(record.ehrId)
  const carePlanId = type === 'careplan' ? id : (record.carePlanId as string | undefined)
  caller.onAccess?.(ehrId)
  return {
    about: type,
    aboutId: id,
    ehrId,
    ...(carePlanId !== undefined && { carePlanId }),
    goesWith: {
      ...(record.goalId !== undefined && { goalId: record.goalId as string }),
      ...(RELATED_RECORD_FIELD_NAMES.includes(`${type}Id`) && { [`${type}Id`]: id }),
    },
    permissions: fromStoredPermissions(record),
    isAnonymous:
      (type === 'careplan' ? record.anonymous === true : await isAnonymousPlan(context, carePlanId)) ||
      (await findAnonymizedEhrs(context, caller)).has(ehrId),
  }
}

/** The subject of two connected users; the same whichever of them asks. */
async function findNetworkSubject(
  connections: ConnectionCheck,
  caller: Caller,
  other: string,
): Promise<ChatSubject | undefined> {
  const { userId, helper } = caller
  // The conversations of a person with their connections are their own.
  if (helper || other === userId || !(await connections.areConnected(userId, other))) return undefined
  caller.onAccess?.(other)
  const userIds = [userId, other].sort()
  return {
    about: 'network',
    aboutId: userIds.join('-'),
    permissions: { read: [`role:${networkRole(userId, other)}`], write: userIds },
    isAnonymous: false,
  }
}

async function isAnonymousPlan(context: StoreContext, carePlanId: string | undefined): Promise<boolean> {
  if (carePlanId === undefined) return false
  const plans = documentCollection(context, 'CarePlan')
  const plan = await plans.findOne({ _id: carePlanId }, { projection: { anonymous: 1 } })
  return plan?.anonymous === true
}

import { type Caller, isAdmin, type Permissions } from '../../store/documents/caller.ts'
import { idsWithPrefix } from '../../store/documents/ids.ts'

type EhrRight = 'read' | 'write'

/** 'manage' includes 'write', and the right to choose the participants. */
const PLAN_RIGHTS = ['read', 'write', 'manage'] as const
export type PlanRight = (typeof PLAN_RIGHTS)[number]

/** The role of the readers or writers of an EHR; its name is also its id. */
export const ehrRole = (ehrId: string, right: EhrRight): string => `ehr-${ehrId}-${right}`

/** The role of the readers, writers or managers of a care plan. */
export const planRole = (carePlanId: string, right: PlanRight): string => `plan-${carePlanId}-${right}`

/** The care plan in which the holders of a role take part. */
export const carePlanIdOfRole = (name: string): string | undefined =>
  /^plan-(.+)-(?:read|write|manage)$/.exec(name)?.[1]

/** The EHRs of which somebody with these roles is a reader, as a participant of a care plan, or a writer. */
export function ehrIdsOfRoles(names: readonly string[], right: EhrRight): string[] {
  const pattern = new RegExp(`^ehr-(.+)-${right}$`)
  return names.flatMap((name) => pattern.exec(name)?.[1] ?? [])
}

export const ehrRoles = (ehrId: string): string[] => [ehrRole(ehrId, 'read'), ehrRole(ehrId, 'write')]

export const planRoles = (carePlanId: string): string[] =>
  PLAN_RIGHTS.map((right) => planRole(carePlanId, right))

/** The role of two connected users, for their conversation. */
export const networkRole = (...pair: [string, string]): string => `network-${pair.sort().join('-')}`

const aclEntryOfRole = (name: string): string => `role:${name}`

/** The permission entry that all records of an EHR have, and those of no other one. */
export const compartmentOf = (ehrId: string): string => aclEntryOfRole(ehrRole(ehrId, 'write'))

/** The stored fields of an EHR that determine its permissions. */
export interface EhrAccessFields {
  _id: string
  subjectId?: unknown
  /** Whether the EHR awaits its subject's acceptance. */
  pending?: unknown
  /** The user or the connected system that created it. */
  creatorId?: unknown
}

const SYSTEM_ID_PREFIX = 'system-'

/** The range of the ids of connected systems, for a filter. */
export const SYSTEM_ID_RANGE = idsWithPrefix(SYSTEM_ID_PREFIX)

/** A new id of a connected system; no user id has this form. */
export const systemIdFrom = (newId: string): string => SYSTEM_ID_PREFIX + newId

/** Whether an id is that of a connected system. */
export const isSystemId = (id: unknown): id is string =>
  typeof id === 'string' && id.startsWith(SYSTEM_ID_PREFIX)

/**
 * Tests for the form of a user id. The account is not looked up: the result would reveal it to strangers, and
 * an id without an account grants no access.
 */
export const hasUserIdFormat = (subjectId: unknown): subjectId is string =>
  typeof subjectId === 'string' && /^[A-Za-z0-9]{10}$/.test(subjectId)

/** The subject as a user; undefined for a subject who is not a user, or has not accepted. */
export const subjectOf = ({ subjectId, pending }: Omit<EhrAccessFields, '_id'>): string | undefined =>
  hasUserIdFormat(subjectId) && pending !== true ? subjectId : undefined

/**
 * Whether a caller may delete an EHR and read its audit: administrators, its subject, and its creator while the subject
 * is not a user or has not accepted. Write access alone is not enough, and no helper may do it for the subject.
 */
export const canManageEhr = (caller: Caller, ehr: Omit<EhrAccessFields, '_id'>): boolean =>
  caller.unrestricted === true ||
  isAdmin(caller) ||
  (!caller.helper && caller.userId === (subjectOf(ehr) ?? ehr.creatorId))

/**
 * The subject, and the connected system that is responsible for the EHR. A system may be responsible for more
 * EHRs than a caller may have roles.
 */
const ownerEntries = (ehr: EhrAccessFields): string[] =>
  [subjectOf(ehr), isSystemId(ehr.creatorId) ? ehr.creatorId : undefined].filter((id) => id !== undefined)

/** Permissions of the EHR and of its records outside care plans. */
export function ehrPermissions(ehr: EhrAccessFields): Permissions {
  const writers = [...ownerEntries(ehr), aclEntryOfRole(ehrRole(ehr._id, 'write'))]
  return { read: [...writers, aclEntryOfRole(ehrRole(ehr._id, 'read'))], write: writers }
}

/** Permissions of a care plan and of all records in it. */
export function planPermissions(ehr: EhrAccessFields, carePlanId: string): Permissions {
  const writers = [
    ...ownerEntries(ehr),
    aclEntryOfRole(ehrRole(ehr._id, 'write')),
    aclEntryOfRole(planRole(carePlanId, 'write')),
  ]
  return { read: [...writers, aclEntryOfRole(planRole(carePlanId, 'read'))], write: writers }
}

/**
 * Who may delete a plan: those who may write its EHR, and so may create plans. Participants may not, since the
 * plan contains the records of others.
 */
export const planDeleters = ({ _id, _wperm = [] }: { _id: string; _wperm?: string[] }): string[] => {
  const ofPlan = planRoles(_id).map(aclEntryOfRole)
  return _wperm.filter((who) => !ofPlan.includes(who))
}

/** Permissions of a participation: those of the plan, except that writing requires the right to manage. */
export function participationPermissions({ read, write }: Permissions, carePlanId: string): Permissions {
  const writers = aclEntryOfRole(planRole(carePlanId, 'write'))
  const managers = aclEntryOfRole(planRole(carePlanId, 'manage'))
  return { read, write: write.map((who) => (who === writers ? managers : who)) }
}

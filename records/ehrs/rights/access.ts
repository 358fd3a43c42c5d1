import type { Permissions } from '../../store/documents/caller.ts'

type Right = 'read' | 'write'

/** Who manages a care plan writes it and says who takes part in it. */
const PLAN_RIGHTS = ['read', 'write', 'manage'] as const
export type PlanRight = (typeof PLAN_RIGHTS)[number]

/** The role of those who read, or read and write, an EHR; its name is its id too. */
export const ehrRole = (ehrId: string, right: Right): string => `ehr-${ehrId}-${right}`

/** The EHR that a role lets its holders read. */
export const ehrOfRole = (name: string): string | undefined => /^ehr-(.+)-(?:read|write)$/.exec(name)?.[1]

/** The role of those who read one care plan, write it too, or manage it. */
export const planRole = (carePlanId: string, right: PlanRight): string => `plan-${carePlanId}-${right}`

/** The care plan in which a role lets its holders take part. */
export const planOfRole = (name: string): string | undefined =>
  /^plan-(.+)-(?:read|write|manage)$/.exec(name)?.[1]

export const ehrRoles = (ehrId: string): string[] => [ehrRole(ehrId, 'read'), ehrRole(ehrId, 'write')]

export const planRoles = (carePlanId: string): string[] =>
  PLAN_RIGHTS.map((right) => planRole(carePlanId, right))

/** The role of two users who talk to each other, as long as they are connected. */
export const pairRole = (...pair: [string, string]): string => `network-${pair.sort().join('-')}`

const role = (name: string): string => `role:${name}`

/** The fields of an EHR that decide who may see its contents, as stored. */
export interface EhrHead {
  _id: string
  subjectId?: unknown
  /** Whether it waits until the user whom it is about agrees. */
  pending?: unknown
}

/**
 * Whether a reference has the form of a user's id. That there is such a user is not looked up: the answer would tell
 * strangers, and an id without an account grants nobody anything.
 */
export const mayBeUser = (subjectId: unknown): subjectId is string =>
  typeof subjectId === 'string' && /^[A-Za-z0-9]{10}$/.test(subjectId)

/** The user whom the EHR is about, once they agree; undefined: somebody who is no user, or has not agreed. */
export const subjectOf = ({ subjectId, pending }: Omit<EhrHead, '_id'>): string | undefined =>
  mayBeUser(subjectId) && pending !== true ? subjectId : undefined

const subject = (ehr: EhrHead): string[] => {
  const subjectId = subjectOf(ehr)
  return subjectId === undefined ? [] : [subjectId]
}

/** Permissions of the EHR and of what belongs to it alone. */
export function ehrPermissions(ehr: EhrHead): Permissions {
  const writers = [...subject(ehr), role(ehrRole(ehr._id, 'write'))]
  return { read: [...writers, role(ehrRole(ehr._id, 'read'))], write: writers }
}

/** Permissions of a care plan and of all that is registered in it. */
export function planPermissions(ehr: EhrHead, carePlanId: string): Permissions {
  const writers = [...subject(ehr), role(ehrRole(ehr._id, 'write')), role(planRole(carePlanId, 'write'))]
  return { read: [...writers, role(planRole(carePlanId, 'read'))], write: writers }
}

/** Permissions of who takes part in a care plan, which are the plan's but for participants who write without managing. */
export function managedPermissions({ read, write }: Permissions, carePlanId: string): Permissions {
  const writers = role(planRole(carePlanId, 'write'))
  const managers = role(planRole(carePlanId, 'manage'))
  return { read, write: write.map((who) => (who === writers ? managers : who)) }
}

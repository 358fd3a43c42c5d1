import type { Permissions } from '../store/documents/caller.ts'

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

export const ehrRoles = (ehrId: string): string[] => [ehrRole(ehrId, 'read'), ehrRole(ehrId, 'write')]

export const planRoles = (carePlanId: string): string[] =>
  PLAN_RIGHTS.map((right) => planRole(carePlanId, right))

const role = (name: string): string => `role:${name}`

/**
 * Who is named in permissions because the EHR is about them. Whether such an account exists is not looked
 * up: the answer would tell strangers, and an id without an account grants nobody anything.
 */
const subject = (subjectId: string): string[] => (/^[A-Za-z0-9]{10}$/.test(subjectId) ? [subjectId] : [])

/** Permissions of the EHR and of what belongs to it alone. */
export function ehrPermissions(ehrId: string, subjectId: string): Permissions {
  const writers = [...subject(subjectId), role(ehrRole(ehrId, 'write'))]
  return { read: [...writers, role(ehrRole(ehrId, 'read'))], write: writers }
}

/** Permissions of a care plan and of all that is registered in it. */
export function planPermissions(ehrId: string, carePlanId: string, subjectId: string): Permissions {
  const writers = [...subject(subjectId), role(ehrRole(ehrId, 'write')), role(planRole(carePlanId, 'write'))]
  return { read: [...writers, role(planRole(carePlanId, 'read'))], write: writers }
}

/** Permissions of who takes part in a care plan, which are the plan's but for participants who write without managing. */
export function managedPermissions({ read, write }: Permissions, carePlanId: string): Permissions {
  const writers = role(planRole(carePlanId, 'write'))
  const managers = role(planRole(carePlanId, 'manage'))
  return { read, write: write.map((who) => (who === writers ? managers : who)) }
}

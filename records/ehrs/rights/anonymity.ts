import type { Violation } from '../../../schemas/validation/violations.ts'
import type { Caller } from '../../store/documents/caller.ts'
import { type Database, documentCollection } from '../../store/documents/database.ts'
import {
  carePlanIdOfRole,
  type EhrAccessFields,
  ehrIdsOfRoles,
  ehrRole,
  planRole,
  subjectOf,
} from './access.ts'

/** @see docs/decisions/anonymous-plans.md */
export type AnonymizedEhrIds = ReadonlySet<string>

const NO_IDS: ReadonlySet<string> = new Set()

const hasEhrWriteRole = ({ roles }: Caller, ehrId: string): boolean => roles.includes(ehrRole(ehrId, 'write'))

/**
 * Finds the EHRs of others whose subject the caller may know: the caller may write them, or takes part in a named care
 * plan there. The plan of a role that has just ended may be deleted, so a plan that does not exist names nobody.
 */
export async function findNamedEhrs(
  database: Pick<Database, 'db'>,
  { roles }: Pick<Caller, 'roles'>,
): Promise<ReadonlySet<string>> {
  const plans = roles.flatMap((name) => carePlanIdOfRole(name) ?? [])
  const namedPlans = documentCollection(database, 'CarePlan').find(
    { _id: { $in: plans }, anonymous: { $ne: true } },
    { projection: { ehrId: 1 } },
  )
  const ehrIds = plans.length === 0 ? [] : await namedPlans.map(({ ehrId }) => String(ehrId)).toArray()
  return new Set([...ehrIds, ...ehrIdsOfRoles(roles, 'write')])
}

/** Finds the EHRs that the caller may read without knowing their subject. */
export async function findAnonymizedEhrs(
  database: Pick<Database, 'db'>,
  caller: Caller,
): Promise<AnonymizedEhrIds> {
  const ehrIds = caller.unrestricted ? [] : ehrIdsOfRoles(caller.roles, 'read')
  if (ehrIds.length === 0) return NO_IDS
  const namedEhrIds = await findNamedEhrs(database, caller)
  return new Set(ehrIds.filter((ehrId) => !namedEhrIds.has(ehrId)))
}

/** Finds the users who are the subjects of these EHRs. */
export async function findSubjectsOf(
  database: Pick<Database, 'db'>,
  ehrIds: AnonymizedEhrIds,
): Promise<ReadonlySet<string>> {
  if (ehrIds.size === 0) return NO_IDS
  const projection = { subjectId: 1, pending: 1 }
  const ehrs = documentCollection(database, 'Ehr').find({ _id: { $in: [...ehrIds] } }, { projection })
  return new Set(((await ehrs.toArray()) as EhrAccessFields[]).flatMap((ehr) => subjectOf(ehr) ?? []))
}

/** A participant of an anonymous care plan cannot end its anonymity; other writers of the EHR can. */
export function deanonymizationViolations(
  caller: Caller,
  current: Readonly<Record<string, unknown>>,
  next: Readonly<Record<string, unknown>>,
): Violation[] {
  const takesPart = caller.roles.includes(planRole(String(current.id), 'write'))
  const ends = current.anonymous === true && next.anonymous !== true
  if (!ends || !takesPart || caller.unrestricted || hasEhrWriteRole(caller, String(current.ehrId))) return []
  return [
    {
      path: 'anonymous',
      code: 'reserved',
      message: 'must stay true because only users who can write the EHR can reveal the person',
    },
  ]
}

/** An EHR as its reader may see it: an anonymous one has no subject. */
export const hideSubject = <E extends { id: string; subjectId: string | null }>(
  ehr: E,
  anonymizedIds: AnonymizedEhrIds,
): E | (E & { subjectId: null }) => (anonymizedIds.has(ehr.id) ? { ...ehr, subjectId: null } : ehr)

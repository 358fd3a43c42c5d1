import type { Violation } from '../../../schemas/validation/violations.ts'
import type { Caller } from '../../store/documents/caller.ts'
import { type Database, documentCollection } from '../../store/documents/database.ts'
import { carePlanIdOfRole, ehrRole, planRole } from './access.ts'

/** @see docs/decisions/anonymous-plans.md */
export type AnonymizedEhrIds = ReadonlySet<string>

const NO_EHRS: ReadonlySet<string> = new Set()

const hasEhrWriteRole = ({ roles }: Caller, ehrId: string): boolean => roles.includes(ehrRole(ehrId, 'write'))

/**
 * Finds the EHRs whose subject is hidden from the caller: the caller sees them only through anonymous care
 * plans.
 */
export async function findAnonymizedEhrs(
  database: Pick<Database, 'db'>,
  caller: Caller,
): Promise<AnonymizedEhrIds> {
  const plans = caller.unrestricted ? [] : caller.roles.flatMap((name) => carePlanIdOfRole(name) ?? [])
  if (plans.length === 0) return NO_EHRS
  const planDocuments = await documentCollection(database, 'CarePlan')
    .find({ _id: { $in: plans } }, { projection: { ehrId: 1, anonymous: 1 } })
    .toArray()
  const ehrsOf = (anonymous: boolean) =>
    planDocuments.filter((plan) => (plan.anonymous === true) === anonymous).map(({ ehrId }) => String(ehrId))
  const namedEhrIds = new Set(ehrsOf(false))
  return new Set(ehrsOf(true).filter((ehrId) => !namedEhrIds.has(ehrId) && !hasEhrWriteRole(caller, ehrId)))
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

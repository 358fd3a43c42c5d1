import type { Violation } from '../../../schemas/violation.ts'
import type { Caller } from '../../store/documents/caller.ts'
import { type Database, documentsOf } from '../../store/documents/database.ts'
import { ehrRole, planOfRole, planRole } from './access.ts'

/** @see docs/decisions/anonymous-plans.md */
export type Unnamed = ReadonlySet<string>

const NONE: ReadonlySet<string> = new Set()

const writesEhr = ({ roles }: Caller, ehrId: string): boolean => roles.includes(ehrRole(ehrId, 'write'))

/**
 * The EHRs whose subject stays unnamed for the caller: those that they see because they take part in care plans of
 * theirs, all of which are anonymous.
 */
export async function unnamedFor(database: Pick<Database, 'db'>, caller: Caller): Promise<Unnamed> {
  const plans = caller.unrestricted ? [] : caller.roles.flatMap((name) => planOfRole(name) ?? [])
  if (plans.length === 0) return NONE
  const found = await documentsOf(database, 'CarePlan')
    .find({ _id: { $in: plans } }, { projection: { ehrId: 1, anonymous: 1 } })
    .toArray()
  const ehrsOf = (anonymous: boolean) =>
    found.filter((plan) => (plan.anonymous === true) === anonymous).map(({ ehrId }) => String(ehrId))
  const named = new Set(ehrsOf(false))
  return new Set(ehrsOf(true).filter((ehrId) => !named.has(ehrId) && !writesEhr(caller, ehrId)))
}

/** Who takes part in an anonymous care plan cannot end that: whoever else writes it can. */
export function unveiling(
  caller: Caller,
  now: Readonly<Record<string, unknown>>,
  next: Readonly<Record<string, unknown>>,
): Violation[] {
  const takesPart = caller.roles.includes(planRole(String(now.id), 'write'))
  const ends = now.anonymous === true && next.anonymous !== true
  if (!ends || !takesPart || caller.unrestricted || writesEhr(caller, String(now.ehrId))) return []
  return [
    {
      path: 'anonymous',
      code: 'reserved',
      message: 'must stay true: only those who write the EHR may name the person',
    },
  ]
}

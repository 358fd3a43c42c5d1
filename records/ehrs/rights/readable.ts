import type { Filter } from 'mongodb'
import { type Caller, isPermitted, permitted } from '../../store/documents/caller.ts'
import { type Database, documentsOf } from '../../store/documents/database.ts'
import type { ParseDocument } from '../../store/documents/parse-format.ts'
import { ehrOfRole, ehrPermissions, ehrRole } from './access.ts'

/** The EHRs that a caller may read: those of their roles, and their own. */
export async function readableEhrs(database: Database, caller: Caller): Promise<Set<string>> {
  // A user is the subject of few: to look at these takes less than to send hundreds of roles along.
  const about = documentsOf(database, 'Ehr').find(
    { subjectId: caller.userId },
    { projection: { _id: 1, _rperm: 1 } },
  )
  const own = (await about.toArray()).filter(({ _rperm }) => isPermitted(_rperm, caller))
  const ofRoles = caller.roles.flatMap((role) => ehrOfRole(role) ?? [])
  return new Set([...ofRoles, ...own.map(({ _id }) => _id)])
}

/** The care plans of an EHR that a caller may read: what is registered in them they may read, too. */
export async function readablePlans(
  database: Pick<Database, 'db'>,
  caller: Caller,
  ehrId: string,
  most = 0,
): Promise<string[]> {
  const readable = { ehrId, ...permitted('_rperm', caller) } as Filter<ParseDocument>
  const plans = documentsOf(database, 'CarePlan').find(readable, { projection: { _id: 1 } })
  return (await plans.limit(most).toArray()).map(({ _id }) => _id)
}

/** So many plans are read side by side. */
const MOST = 100

/**
 * The care plans in which all is that a caller may see of what is registered in plans, who only takes part in plans: what
 * others have stored in the same EHR is then not even looked at. undefined: they may see all of the EHR, or so many plans
 * that it is searched as a whole.
 */
export async function plansOfParticipant(
  database: Pick<Database, 'db'>,
  caller: Caller,
  ehrId: string,
): Promise<string[] | undefined> {
  if (caller.unrestricted || caller.roles.includes(ehrRole(ehrId, 'write'))) return undefined
  const head = { projection: { subjectId: 1, pending: 1 } }
  const ehr = await documentsOf(database, 'Ehr').findOne({ _id: ehrId }, head)
  if (ehr && isPermitted(ehrPermissions(ehr).write, caller)) return undefined
  const ids = await readablePlans(database, caller, ehrId, MOST + 1)
  return ids.length > MOST ? undefined : ids
}

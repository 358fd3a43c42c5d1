import { type Caller, permitted } from '../../store/documents/caller.ts'
import { type Database, documentsOf } from '../../store/documents/database.ts'
import { ehrOfRole } from './access.ts'

/** The EHRs that a caller may read: those of their roles, and their own. */
export async function readableEhrs(database: Database, caller: Caller): Promise<Set<string>> {
  const own = documentsOf(database, 'Ehr').find(
    { subjectId: caller.userId, ...permitted('_rperm', caller) },
    { projection: { _id: 1 } },
  )
  const ofRoles = caller.roles.flatMap((role) => ehrOfRole(role) ?? [])
  return new Set([...ofRoles, ...(await own.toArray()).map(({ _id }) => _id)])
}

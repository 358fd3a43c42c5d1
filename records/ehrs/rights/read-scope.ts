import type { Filter } from 'mongodb'
import { type Caller, isPermitted, permissionFilter } from '../../store/documents/caller.ts'
import { type Database, documentCollection } from '../../store/documents/database.ts'
import type { ParseDocument } from '../../store/documents/parse-format.ts'
import { ehrPermissions, ehrRole } from './access.ts'

/** Finds the care plans of an EHR that a caller may read, and with them their records. */
export async function findReadablePlans(
  database: Pick<Database, 'db'>,
  caller: Caller,
  ehrId: string,
  most = 0,
): Promise<string[]> {
  const readable = { ehrId, ...permissionFilter('_rperm', caller) } as Filter<ParseDocument>
  const plans = documentCollection(database, 'CarePlan').find(readable, { projection: { _id: 1 } })
  return (await plans.limit(most).toArray()).map(({ _id }) => _id)
}

/** Maximum number of plans to search individually. */
const MAX_PARTICIPANT_PLANS = 100

/** The fields of an EHR that decide who may see all of it. */
export const EHR_ACCESS_FIELDS = { subjectId: 1, pending: 1, creatorId: 1 } as const

/**
 * Finds the care plans of a caller who only takes part in plans, so that a search skips all other records of
 * the EHR. Returns undefined when the caller may see the whole EHR, or has too many plans.
 * @param ehrDocument the EHR, if its access fields have been read
 */
export async function findParticipantPlans(
  database: Pick<Database, 'db'>,
  caller: Caller,
  ehrId: string,
  ehrDocument?: ParseDocument,
): Promise<string[] | undefined> {
  if (caller.unrestricted || caller.roles.includes(ehrRole(ehrId, 'write'))) return undefined
  const ehr =
    ehrDocument ??
    (await documentCollection(database, 'Ehr').findOne({ _id: ehrId }, { projection: EHR_ACCESS_FIELDS }))
  if (ehr && isPermitted(ehrPermissions(ehr).write, caller)) return undefined
  const ids = await findReadablePlans(database, caller, ehrId, MAX_PARTICIPANT_PLANS + 1)
  return ids.length > MAX_PARTICIPANT_PLANS ? undefined : ids
}

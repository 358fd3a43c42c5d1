import { type Caller, isAdmin } from '../../store/documents/caller.ts'
import { documentsOf, isDuplicate } from '../../store/documents/database.ts'
import { storedPermissions } from '../../store/documents/parse-format.ts'
import { accessesOf } from '../../store/resource.ts'
import { changeOf } from '../../store/writing/history.ts'
import { inTransaction, type Records, type Transaction } from '../../store/writing/transaction.ts'
import { type EhrHead, ehrPermissions, subjectOf } from '../rights/access.ts'
import { createEhrRoles } from '../rights/roles.ts'

/** What says who decides about an EHR. */
interface Governed extends Omit<EhrHead, '_id'> {
  creatorId?: unknown
}

/**
 * Makes the EHR that comes with an account, with exactly the id that the account names, unless it is there.
 * Safe to repeat and to race: one of those who make it at once succeeds. An account whose EHR has been deleted names none, and gets none again.
 */
export async function ensureEhrOfAccount(records: Records, caller: Caller, ehrId: string): Promise<void> {
  const { userId } = caller
  const ehrs = documentsOf(records, 'Ehr')
  if (await ehrs.findOne({ _id: ehrId }, { projection: { _id: 1 } })) return
  const made = inTransaction(records, async (tx) => {
    const { session } = tx
    if (await ehrs.findOne({ _id: ehrId }, { projection: { _id: 1 }, session })) return
    const users = documentsOf(records, '_User')
    if (!(await users.findOne({ _id: userId, ehrId }, { projection: { _id: 1 }, session }))) return
    const at = records.clock()
    const ehr = { _id: ehrId, subjectId: userId, pending: false }
    const meta = { version: 1, _created_at: at, _updated_at: at }
    await ehrs.insertOne({ ...ehr, ...meta, ...storedPermissions(ehrPermissions(ehr)) }, { session })
    await createEhrRoles(records, session, ehrId)
    noteCreation(tx, caller, ehrId, { version: 1, at })
  })
  await made.catch((error: unknown) => {
    if (!isDuplicate(error)) throw error
  })
}

/**
 * Who may delete an EHR and see who used it: not everybody who writes it, but its subject, and its creator as long as
 * that is no user or has not agreed.
 */
export const governsEhr = (caller: Caller, ehr: Governed): boolean =>
  caller.unrestricted === true || isAdmin(caller) || caller.userId === (subjectOf(ehr) ?? ehr.creatorId)

/** Leaves the history and the audit entry of an EHR that was written past its store. */
export function noteCreation(
  { changes, accesses }: Transaction,
  caller: Caller,
  ehrId: string,
  { version, at }: { version: number; at: Date },
): void {
  const change = { action: 'create' as const, version, before: null, changed: [] }
  changes.push(changeOf({ collection: 'Ehr', id: ehrId, ehrId }, { caller, at }, change))
  const audited = { collection: 'Ehr', ehr: 'id' } as const
  accesses.push(...accessesOf(audited, caller, { action: 'create' }, [{ id: ehrId }]))
}

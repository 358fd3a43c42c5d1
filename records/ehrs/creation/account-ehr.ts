import { type Caller, isAdmin } from '../../store/documents/caller.ts'
import { documentCollection, isDuplicateKeyError } from '../../store/documents/database.ts'
import { toStoredPermissions } from '../../store/documents/parse-format.ts'
import { accessesByEhr } from '../../store/resource.ts'
import { createHistoryEntry } from '../../store/writing/history.ts'
import { runStoreTransaction, type StoreContext, type Transaction } from '../../store/writing/transaction.ts'
import { type EhrAccessFields, ehrPermissions, subjectOf } from '../rights/access.ts'
import { createEhrRoles } from '../rights/roles.ts'

/** The fields that determine who manages an EHR. */
interface ManagedEhr extends Omit<EhrAccessFields, '_id'> {
  creatorId?: unknown
}

/**
 * Creates the EHR of an account under the id that the account names, unless it exists. It is idempotent, and
 * of concurrent calls one succeeds. An account whose EHR was deleted names none and gets no new one.
 */
export async function ensureAccountEhr(context: StoreContext, caller: Caller, ehrId: string): Promise<void> {
  const { userId } = caller
  const ehrs = documentCollection(context, 'Ehr')
  if (await ehrs.findOne({ _id: ehrId }, { projection: { _id: 1 } })) return
  const creation = runStoreTransaction(context, async (tx) => {
    const { session } = tx
    if (await ehrs.findOne({ _id: ehrId }, { projection: { _id: 1 }, session })) return
    const users = documentCollection(context, '_User')
    if (!(await users.findOne({ _id: userId, ehrId }, { projection: { _id: 1 }, session }))) return
    const at = context.clock()
    const ehr = { _id: ehrId, subjectId: userId, pending: false }
    const meta = { version: 1, _created_at: at, _updated_at: at }
    await ehrs.insertOne({ ...ehr, ...meta, ...toStoredPermissions(ehrPermissions(ehr)) }, { session })
    await createEhrRoles(context, session, ehrId)
    recordEhrCreation(tx, caller, ehrId, { version: 1, at })
  })
  await creation.catch((error: unknown) => {
    if (!isDuplicateKeyError(error)) throw error
  })
}

/**
 * Tells whether a caller may delete an EHR and read its audit: its subject, or its creator while the subject
 * is no user or has not accepted. Write access alone does not suffice, and no helper does so for the subject.
 */
export const canManageEhr = (caller: Caller, ehr: ManagedEhr): boolean =>
  caller.unrestricted === true ||
  isAdmin(caller) ||
  (!caller.helper && caller.userId === (subjectOf(ehr) ?? ehr.creatorId))

/** Adds history and audit of an EHR that was written without its store. */
export function recordEhrCreation(
  { changes, accesses }: Transaction,
  caller: Caller,
  ehrId: string,
  { version, at }: { version: number; at: Date },
): void {
  const change = { action: 'create' as const, version, before: null, changed: [] }
  changes.push(createHistoryEntry({ collection: 'Ehr', id: ehrId, ehrId }, { caller, at }, change))
  const resource = { collection: 'Ehr', ehr: 'id' } as const
  accesses.push(...accessesByEhr(resource, caller, { action: 'create' }, [{ id: ehrId }]))
}

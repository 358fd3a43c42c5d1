import type { Caller } from '../../store/documents/caller.ts'
import { documentCollection, isDuplicateKeyError } from '../../store/documents/database.ts'
import { toStoredPermissions } from '../../store/documents/parse-format.ts'
import { runStoreTransaction, type StoreContext } from '../../store/writing/transaction.ts'
import { ehrPermissions } from '../rights/access.ts'
import { createEhrRoles } from '../rights/roles.ts'
import { recordEhrCreation } from './ehr-creation.ts'

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

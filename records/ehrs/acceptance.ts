import type { ClientSession } from 'mongodb'
import { type Database, documentCollection } from '../store/documents/database.ts'
import { lockExclusive } from '../store/writing/ehr-locks.ts'
import { historyCollection } from '../store/writing/history.ts'
import type { StoreContext, Transaction } from '../store/writing/transaction.ts'
import type { DatabaseWithContents } from './deletion/cascading-deletion.ts'
import { permissionFor } from './deletion/hidden-records.ts'
import type { EhrAccessFields } from './rights/access.ts'

/** The EHR, if it awaits acceptance by this user. */
export const findPendingEhr = (
  database: Pick<Database, 'db'>,
  userId: string,
  ehrId: string,
  session?: ClientSession,
): Promise<EhrAccessFields | null> => {
  const waiting = { _id: ehrId, subjectId: userId, pending: true }
  const options = { projection: { subjectId: 1, creatorId: 1 }, ...(session && { session }) }
  return documentCollection(database, 'Ehr').findOne(waiting, options)
}

/** The EHR awaits acceptance by this user. */
export const isPendingFor = async (...lookup: Parameters<typeof findPendingEhr>): Promise<boolean> =>
  (await findPendingEhr(...lookup)) !== null

/**
 * Gives the subject access to all records of the EHR, also deleted ones; the caller of this function updates the EHR document
 * itself.
 */
export async function grantSubjectAccess(
  context: StoreContext,
  tx: Transaction,
  { ehrId, subjectId }: { ehrId: string; subjectId: string },
): Promise<void> {
  const { session } = tx
  await lockExclusive(context, tx, [ehrId])
  await addSubjectPermissions(context, session, ehrId, subjectId)
}

/** The permission fields of a record of an EHR. */
interface EhrRecordPermissions {
  ehrId: string
  _rperm: string[]
  _wperm: string[]
}

async function addSubjectPermissions(
  database: DatabaseWithContents,
  session: ClientSession,
  ehrId: string,
  subjectId: string,
): Promise<void> {
  for (const name of database.contents.Ehr)
    await database.db
      .collection<EhrRecordPermissions>(name)
      .updateMany({ ehrId, _rperm: { $ne: subjectId } }, permissionFor(subjectId), { session })
  // Who could read a record before its deletion may read its history and restore it.
  await historyCollection(database.db).updateMany(
    { action: 'delete', 'before.ehrId': ehrId, 'before._rperm': { $ne: subjectId } },
    { $push: { 'before._rperm': subjectId, 'before._wperm': subjectId } },
    { session },
  )
}

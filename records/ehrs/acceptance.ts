import type { ClientSession, Collection } from 'mongodb'
import { type Database, documentCollection, runTransaction } from '../store/documents/database.ts'
import { lockExclusive } from '../store/writing/ehr-locks.ts'
import { MAX_REQUEST_DURATION_MS } from '../store/writing/removal/recent-removals.ts'
import type { StoreContext, Transaction } from '../store/writing/transaction.ts'
import type { DatabaseWithContents } from './deletion/cascading-deletion.ts'

/**
 * A recently accepted EHR: a sweep must also update records that concurrent requests wrote with old
 * permissions.
 */
interface EhrAcceptance {
  _id: string
  subjectId: string
  at: Date
}

export const ehrAcceptancesOf = ({ db }: Pick<Database, 'db'>): Collection<EhrAcceptance> =>
  db.collection<EhrAcceptance>('ehr.agreements')

/** The EHR awaits acceptance by this user. */
export const isPendingFor = async (
  database: Pick<Database, 'db'>,
  userId: string,
  ehrId: string,
  session?: ClientSession,
): Promise<boolean> => {
  const waiting = { _id: ehrId, subjectId: userId, pending: true }
  const options = { projection: { _id: 1 }, ...(session && { session }) }
  return (await documentCollection(database, 'Ehr').findOne(waiting, options)) !== null
}

/**
 * Gives the subject access to all records of the EHR; the caller of this function updates the EHR document
 * itself.
 */
export async function grantSubjectAccess(
  records: StoreContext,
  tx: Transaction,
  { ehrId, subjectId }: { ehrId: string; subjectId: string },
): Promise<void> {
  const { session } = tx
  await lockExclusive(records, tx, [ehrId])
  const agreement = { subjectId, at: records.clock() }
  await ehrAcceptancesOf(records).replaceOne({ _id: ehrId }, agreement, { session, upsert: true })
  await addSubjectPermissions(records, session, ehrId, subjectId)
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
    await database.db.collection<EhrRecordPermissions>(name).updateMany(
      { ehrId, _rperm: { $ne: subjectId } },
      {
        $push: { _rperm: subjectId, _wperm: subjectId },
        $set: { [`_acl.${subjectId}`]: { r: true, w: true } },
      },
      { session },
    )
}

/** Updates records that requests from before an acceptance have written. Runs on startup and every minute. */
export async function sweepAcceptances(database: DatabaseWithContents, now: Date): Promise<void> {
  const ended = { at: { $lt: new Date(now.getTime() - MAX_REQUEST_DURATION_MS) } }
  for (const { _id, subjectId } of await ehrAcceptancesOf(database).find(ended).toArray())
    await runTransaction(database, async (session) => {
      await lockExclusive(database, { session }, [_id])
      if (await documentCollection(database, 'Ehr').findOne({ _id }, { projection: { _id: 1 }, session }))
        await addSubjectPermissions(database, session, _id, subjectId)
      await ehrAcceptancesOf(database).deleteOne({ _id }, { session })
    })
}

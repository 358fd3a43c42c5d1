import type { ClientSession, Collection } from 'mongodb'
import { type Database, documentsOf, together } from '../store/documents/database.ts'
import { LONGEST_REQUEST_MS } from '../store/writing/removal/recent-removals.ts'
import type { Records, Transaction } from '../store/writing/transaction.ts'
import { takeAlone } from '../store/writing/turns.ts'
import type { Held } from './removal/removal.ts'

/** An EHR to which its subject agreed lately: what was being written into it meanwhile is to be gone over once more. */
interface Agreement {
  _id: string
  subjectId: string
  at: Date
}

export const agreementsOf = ({ db }: Pick<Database, 'db'>): Collection<Agreement> =>
  db.collection<Agreement>('ehr.agreements')

/** Whether the EHR waits for this very user to agree. */
export const waitsFor = async (
  database: Pick<Database, 'db'>,
  userId: string,
  ehrId: string,
  session?: ClientSession,
): Promise<boolean> => {
  const waiting = { _id: ehrId, subjectId: userId, pending: true }
  const options = { projection: { _id: 1 }, ...(session && { session }) }
  return (await documentsOf(database, 'Ehr').findOne(waiting, options)) !== null
}

/** Lets the subject read and write what is registered in the EHR, whose own document the caller changes. */
export async function admitSubject(
  records: Records,
  tx: Transaction,
  { ehrId, subjectId }: { ehrId: string; subjectId: string },
): Promise<void> {
  const { session } = tx
  await takeAlone(records, tx, [ehrId])
  const agreement = { subjectId, at: records.clock() }
  await agreementsOf(records).replaceOne({ _id: ehrId }, agreement, { session, upsert: true })
  await admit(records, session, ehrId, subjectId)
}

/** What is registered in an EHR, in so far as it says who may see it. */
interface Registered {
  ehrId: string
  _rperm: string[]
  _wperm: string[]
}

async function admit(
  database: Held,
  session: ClientSession,
  ehrId: string,
  subjectId: string,
): Promise<void> {
  for (const name of database.contents.Ehr)
    await database.db.collection<Registered>(name).updateMany(
      { ehrId, _rperm: { $ne: subjectId } },
      {
        $push: { _rperm: subjectId, _wperm: subjectId },
        $set: { [`_acl.${subjectId}`]: { r: true, w: true } },
      },
      { session },
    )
}

/** Goes over what requests that began before an agreement have written: to be called at start, and every minute. */
export async function sweepAgreements(database: Held, now: Date): Promise<void> {
  const ended = { at: { $lt: new Date(now.getTime() - LONGEST_REQUEST_MS) } }
  for (const { _id, subjectId } of await agreementsOf(database).find(ended).toArray())
    await together(database, async (session) => {
      await takeAlone(database, { session }, [_id])
      if (await documentsOf(database, 'Ehr').findOne({ _id }, { projection: { _id: 1 }, session }))
        await admit(database, session, _id, subjectId)
      await agreementsOf(database).deleteOne({ _id }, { session })
    })
}

import type { ClientSession, Collection } from 'mongodb'
import { ServiceError } from '../../../schemas/errors.ts'
import type { Caller } from '../../store/documents/caller.ts'
import { documentsOf, together } from '../../store/documents/database.ts'
import type { ParseDocument } from '../../store/documents/parse-format.ts'
import { forgetChangesOfEhr } from '../../store/writing/history.ts'
import { LONGEST_REQUEST_MS } from '../../store/writing/recent-removals.ts'
import { removeInSteps } from '../../store/writing/remove-in-steps.ts'
import { inTransaction, type Records, type Transaction } from '../../store/writing/transaction.ts'
import { takeTurns, turnsOf } from '../../store/writing/turns.ts'
import { noteCreation } from '../beginning/of-account.ts'
import { ehrRoles, planRoles } from '../rights/access.ts'
import { removeRoles } from '../rights/roles.ts'
import type { Held } from './removal.ts'

/** An EHR that is gone for everyone, and can be brought back for a while. */
export interface RemovedEhr {
  _id: string
  at: Date
  /** The EHR as it was. */
  document: ParseDocument
  /** Whether it was the one that came with its subject's account. */
  ofAccount: boolean
  /** When what was written into it meanwhile was last hidden. */
  sweptAt?: Date
}

const DAY_MS = 86_400_000
/** For which an administrator can bring back an EHR; a day later it is removed for good. */
const RESTORABLE_MS = 30 * DAY_MS

/** Stands before each entry of the permissions of what is gone: then they admit nobody, and nothing is forgotten. */
const MARK = 'removed:'

export const removedEhrs = ({ db }: Pick<Records, 'db'>): Collection<RemovedEhr> =>
  db.collection<RemovedEhr>('ehr.removed')

/** Hides all that hangs on an EHR, whose own document the caller removes in the same transaction. */
export async function removeSoftly(
  records: Records,
  tx: Transaction,
  { ehrId, subjectId }: { ehrId: string; subjectId: string },
): Promise<void> {
  const { session } = tx
  await takeTurns(records, tx, [ehrId])
  const document = await documentsOf(records, 'Ehr').findOne({ _id: ehrId }, { session })
  if (!document) throw new ServiceError('NotFound')
  const account = await documentsOf(records, '_User').updateOne(
    { _id: subjectId, ehrId },
    { $unset: { ehrId: '' } },
    { session },
  )
  const removed = {
    at: records.clock(),
    document: document as ParseDocument,
    ofAccount: account.modifiedCount > 0,
  }
  await removedEhrs(records).replaceOne({ _id: ehrId }, removed, { session, upsert: true })
  await hide(records, session, ehrId)
}

/**
 * The same before Parse Server deletes the EHR's own document, which nobody sees any more.
 * @param callerId who deletes; none when it is the service
 */
export async function leaveToParse(
  records: Records,
  ehrId: string,
  callerId: string | undefined,
): Promise<void> {
  await inTransaction(records, async (tx) => {
    const { session } = tx
    const ehrs = documentsOf(records, 'Ehr')
    const ehr = await ehrs.findOne({ _id: ehrId }, { session })
    await removeSoftly(records, tx, { ehrId, subjectId: String(ehr?.subjectId) })
    const left = { _rperm: [], _wperm: callerId === undefined ? [] : [callerId] }
    await ehrs.updateOne({ _id: ehrId }, { $set: left }, { session })
  })
}

/** Hides what belongs to the EHR and is not hidden yet. */
async function hide(database: Held, session: ClientSession, ehrId: string): Promise<void> {
  for (const name of database.contents.Ehr) {
    await database.db
      .collection(name)
      .updateMany(
        { ehrId, _rperm: { $not: { $regex: `^${MARK}` } } },
        [{ $set: permissionsBy({ $concat: [MARK, '$$who'] }) }],
        { session },
      )
  }
}

const permissionsBy = (change: object) => ({
  _rperm: { $map: { input: '$_rperm', as: 'who', in: change } },
  _wperm: { $map: { input: '$_wperm', as: 'who', in: change } },
})

/** @throws NotFound when it was not removed, or too long ago */
export async function restoreRemoved(
  records: Records,
  tx: Transaction,
  caller: Caller,
  ehrId: string,
): Promise<void> {
  const { session } = tx
  const now = records.clock()
  const since = new Date(now.getTime() - RESTORABLE_MS)
  const removed = await removedEhrs(records).findOneAndDelete({ _id: ehrId, at: { $gt: since } }, { session })
  if (!removed) throw new ServiceError('NotFound')
  const { document, ofAccount } = removed
  // The removal was a version of its own.
  const version = document.version + 2
  // There may be what Parse Server should have deleted.
  const restored = { ...document, version, _updated_at: now }
  await documentsOf(records, 'Ehr').replaceOne({ _id: ehrId }, restored, { session, upsert: true })
  records.recentRemovals.forget(ehrId)
  for (const name of records.contents.Ehr) {
    const shown = { $substrCP: ['$$who', MARK.length, { $strLenCP: '$$who' }] }
    await records.db
      .collection(name)
      .updateMany({ ehrId, _rperm: { $regex: `^${MARK}` } }, [{ $set: permissionsBy(shown) }], { session })
  }
  if (ofAccount) {
    const account = { _id: String(document.subjectId), ehrId: { $exists: false } }
    await documentsOf(records, '_User').updateOne(account, { $set: { ehrId } }, { session })
  }
  noteCreation(tx, caller, ehrId, { version, at: now })
}

/** Finishes what was removed: to be called at start, and every minute. */
export async function sweepRemovedEhrs(database: Held, now: Date): Promise<void> {
  const ago = (milliseconds: number) => new Date(now.getTime() - milliseconds)
  const recent = { at: { $gt: ago(3 * LONGEST_REQUEST_MS) } }
  for await (const { _id } of removedEhrs(database).find(recent)) await hideAgain(database, _id, now)
  const old = { at: { $lt: ago(RESTORABLE_MS + DAY_MS) } }
  const gone = await removedEhrs(database)
    .find(old, { projection: { _id: 1 } })
    .toArray()
  for (const { _id } of gone) await removeForGood(database, _id)
}

/** Hides what was written since, unless the EHR is being brought back: either of the two sees what the other has done. */
const hideAgain = (database: Held, _id: string, sweptAt: Date): Promise<void> =>
  together(database, async (session) => {
    const removed = await removedEhrs(database).updateOne({ _id }, { $set: { sweptAt } }, { session })
    if (removed.matchedCount > 0) await hide(database, session, _id)
  })

/** What is cut short is gone over again: that there was an EHR is forgotten last, and its plans after their contents. */
async function removeForGood(database: Held, ehrId: string): Promise<void> {
  await forgetChangesOfEhr(database.db, ehrId)
  for (const name of database.contents.Ehr)
    if (name !== 'CarePlan') await removeInSteps(documentsOf(database, name), { ehrId })
  const plans = documentsOf(database, 'CarePlan')
  await removeInSteps(plans, { ehrId }, (ids) =>
    together(database, async (session) => {
      await removeRoles(database, session, ids.flatMap(planRoles))
      await plans.deleteMany({ _id: { $in: ids } }, { session })
    }),
  )
  await together(database, (session) => removeRoles(database, session, ehrRoles(ehrId)))
  await documentsOf(database, 'Ehr').deleteOne({ _id: ehrId, _rperm: [] })
  await turnsOf(database).deleteOne({ _id: ehrId })
  await removedEhrs(database).deleteOne({ _id: ehrId })
}

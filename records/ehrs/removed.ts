import type { Collection } from 'mongodb'
import { ServiceError } from '../../schemas/errors.ts'
import type { Caller } from '../caller.ts'
import { takeTurn } from '../care-plans/context.ts'
import { documentsOf } from '../database.ts'
import { changeOf } from '../history.ts'
import type { ParseDocument } from '../parse-format.ts'
import { contentsOf } from '../removal.ts'
import { accessesOf } from '../resource.ts'
import type { Records, Transaction } from '../transaction.ts'

/** An EHR that is gone for everyone, and can be brought back for a while. */
export interface RemovedEhr {
  _id: string
  at: Date
  /** The EHR as it was. */
  document: ParseDocument
  /** Whether it was the one that came with its subject's account. */
  ofAccount: boolean
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
  await takeTurn(records, tx, ehrId)
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
  await hide(records, ehrId, tx)
}

/** Hides what belongs to the EHR and is not hidden yet. */
async function hide(records: Records, ehrId: string, tx?: Transaction): Promise<void> {
  for (const name of contentsOf('Ehr')) {
    await records.db
      .collection(name)
      .updateMany(
        { ehrId, _rperm: { $not: { $regex: `^${MARK}` } } },
        [{ $set: permissionsBy({ $concat: [MARK, '$$who'] }) }],
        tx ? { session: tx.session } : {},
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
  await documentsOf(records, 'Ehr').insertOne({ ...document, version, _updated_at: now }, { session })
  for (const name of contentsOf('Ehr')) {
    const shown = { $substrCP: ['$$who', MARK.length, { $strLenCP: '$$who' }] }
    await records.db
      .collection(name)
      .updateMany({ ehrId, _rperm: { $regex: `^${MARK}` } }, [{ $set: permissionsBy(shown) }], { session })
  }
  if (ofAccount) {
    const account = { _id: String(document.subjectId), ehrId: { $exists: false } }
    await documentsOf(records, '_User').updateOne(account, { $set: { ehrId } }, { session })
  }
  const change = { action: 'create' as const, version, before: null, changed: [] }
  tx.changes.push(changeOf('Ehr', ehrId, { caller, at: now }, change))
  const audited = { collection: 'Ehr', ehr: 'id' } as const
  tx.accesses.push(...accessesOf(audited, caller, { action: 'create' }, [{ id: ehrId }]))
}

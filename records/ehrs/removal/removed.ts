import type { ClientSession, Collection, Db, Document } from 'mongodb'
import { ServiceError } from '../../../schemas/errors.ts'
import { fits, idsInSteps, removeInSteps, type Which } from '../../store/batching/steps.ts'
import type { Caller } from '../../store/documents/caller.ts'
import { documentsOf, together } from '../../store/documents/database.ts'
import type { ParseDocument } from '../../store/documents/parse-format.ts'
import { beginWork, type Job, type Jobs, type Steps, workId, worksOf } from '../../store/steps/under-way.ts'
import { forgetChangesOfEhr } from '../../store/writing/history.ts'
import { LONGEST_REQUEST_MS } from '../../store/writing/removal/recent-removals.ts'
import { inTransaction, type Records, type Transaction } from '../../store/writing/transaction.ts'
import { forgetTurns, takeAlone } from '../../store/writing/turns.ts'
import { noteCreation } from '../beginning/of-account.ts'
import { ehrRoles, planRoles } from '../rights/access.ts'
import { removeRoles } from '../rights/roles.ts'
import { type Held, leftFor, WAIT_MS } from './removal.ts'

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
  /** It is being brought back. */
  returning?: true
}

const DAY_MS = 86_400_000
/** For which an administrator can bring back an EHR; a day later it is removed for good. */
const RESTORABLE_MS = 30 * DAY_MS

/** Stands before each entry of the permissions of what is gone: then they admit nobody, and nothing is forgotten. */
const MARK = 'removed:'

export const removedEhrs = ({ db }: Pick<Records, 'db'>): Collection<RemovedEhr> =>
  db.collection<RemovedEhr>('ehr.removed')

/**
 * Hides all that hangs on an EHR, whose own document the caller removes in the same transaction. What is too much for
 * one is hidden by then all the same, and marked in steps.
 */
export async function removeSoftly(
  records: Records,
  tx: Transaction,
  caller: Caller,
  { ehrId, subjectId }: { ehrId: string; subjectId: string },
): Promise<void> {
  const { session } = tx
  await takeAlone(records, tx, [ehrId])
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
  if (!(await fits(records.db, records.contents.Ehr, { ehrId }, session)))
    await beginWork(records, tx, caller, workOn(ehrId, 'hide'))
  else for (const name of records.contents.Ehr) await mark(records.db, name, { ehrId, ...UNMARKED }, session)
}

const workOn = (ehrId: string, job: 'hide' | 'show') => ({ job, field: 'ehrId', id: ehrId, ehrId }) as const

export const untilMarked = ({ underWay }: Records, ehrId: string): Promise<boolean> =>
  underWay.done(workId(workOn(ehrId, 'hide')), WAIT_MS)

/**
 * The same before Parse Server deletes the EHR's own document, which nobody sees any more.
 */
export async function leaveToParse(records: Records, caller: Caller, ehrId: string): Promise<void> {
  await inTransaction(records, async (tx) => {
    const { session } = tx
    const ehrs = documentsOf(records, 'Ehr')
    const ehr = await ehrs.findOne({ _id: ehrId }, { session })
    await removeSoftly(records, tx, caller, { ehrId, subjectId: String(ehr?.subjectId) })
    await ehrs.updateOne({ _id: ehrId }, { $set: leftFor(caller) }, { session })
  })
  await untilMarked(records, ehrId)
}

const MARKED = { _rperm: { $regex: `^${MARK}` } }
const UNMARKED = { _rperm: { $not: MARKED._rperm } }

const permissionsBy = (change: object) => ({
  _rperm: { $map: { input: '$_rperm', as: 'who', in: change } },
  _wperm: { $map: { input: '$_wperm', as: 'who', in: change } },
})

const mark = (db: Db, name: string, which: Which, session: ClientSession) =>
  db
    .collection<Document & { _id: string }>(name)
    .updateMany(which, [{ $set: permissionsBy({ $concat: [MARK, '$$who'] }) }], { session })

const unmark = (db: Db, name: string, which: Which, session: ClientSession) =>
  db
    .collection<Document & { _id: string }>(name)
    .updateMany(
      which,
      [{ $set: permissionsBy({ $substrCP: ['$$who', MARK.length, { $strLenCP: '$$who' }] }) }],
      { session },
    )

/** Does something to all that belongs to an EHR and fits, in steps. */
async function eachStep(
  { contents }: Held,
  {
    db,
    one,
  }: Pick<Steps, 'db'> & { one(work: (tx: Pick<Transaction, 'session'>) => Promise<unknown>): Promise<void> },
  { ehrId, ...still }: Which,
  change: typeof mark,
): Promise<void> {
  // Without the EHR: led by its index, each step would look at all that the EHR has.
  for (const name of contents.Ehr)
    for await (const ids of idsInSteps(db, name, { ehrId, ...still }))
      await one(({ session }) => change(db, name, { ...still, _id: { $in: ids } }, session))
}

/**
 * Brings back an EHR; when it is too much for one transaction, all of it is to be seen when the last step is done.
 * @throws NotFound when it was not removed, or too long ago
 */
export async function restoreRemoved(
  records: Records,
  tx: Transaction,
  caller: Caller,
  ehrId: string,
): Promise<void> {
  const { session } = tx
  const since = new Date(records.clock().getTime() - RESTORABLE_MS)
  const removed = await removedEhrs(records).findOne({ _id: ehrId, at: { $gt: since } }, { session })
  if (!removed) throw new ServiceError('NotFound')
  if (removed.returning) return
  const work = workOn(ehrId, 'show')
  const free = !(await worksOf(records).findOne({ _id: workId(work) }, { session }))
  if (free && (await fits(records.underWay.db, records.contents.Ehr, { ehrId }, session))) {
    for (const name of records.contents.Ehr) await unmark(records.db, name, { ehrId, ...MARKED }, session)
    return bringBack(records, tx, caller, removed)
  }
  await removedEhrs(records).updateOne({ _id: ehrId }, { $set: { returning: true } }, { session })
  await beginWork(records, tx, caller, work)
}

async function bringBack(
  records: Records,
  tx: Transaction,
  caller: Caller,
  { _id: ehrId, document, ofAccount }: RemovedEhr,
): Promise<void> {
  const { session } = tx
  const now = records.clock()
  // The removal was a version of its own.
  const version = document.version + 2
  await removedEhrs(records).deleteOne({ _id: ehrId }, { session })
  // There may be what Parse Server should have deleted.
  const restored = { ...document, version, _updated_at: now }
  await documentsOf(records, 'Ehr').replaceOne({ _id: ehrId }, restored, { session, upsert: true })
  records.recentRemovals.forget(ehrId)
  if (ofAccount) {
    const account = { _id: String(document.subjectId), ehrId: { $exists: false } }
    await documentsOf(records, '_User').updateOne(account, { $set: { ehrId } }, { session })
  }
  noteCreation(tx, caller, ehrId, { version, at: now })
}

/** What goes on after the transaction that began it. */
export function removalJobs(records: Records): Jobs {
  const hide: Job = async ({ ehrId }, steps) => {
    await eachStep(records, steps, { ehrId, ...UNMARKED }, mark)
    await steps.last()
  }
  const show: Job = async ({ ehrId, by }, steps) => {
    await eachStep(records, steps, { ehrId, ...MARKED }, unmark)
    await steps.last(async (tx) => {
      const removed = await removedEhrs(records).findOne({ _id: ehrId }, { session: tx.session })
      if (removed) await bringBack(records, tx, { ...by, roles: [], unrestricted: true }, removed)
    })
  }
  return { hide, show }
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
async function hideAgain(database: Held, ehrId: string, sweptAt: Date): Promise<void> {
  const { db } = database
  const one = (work: (tx: { session: ClientSession }) => Promise<unknown>) =>
    together(database, async (session) => {
      const still = { _id: ehrId, returning: { $exists: false } }
      const removed = await removedEhrs(database).updateOne(still, { $set: { sweptAt } }, { session })
      if (removed.matchedCount > 0) await work({ session })
    })
  await eachStep(database, { db, one }, { ehrId, ...UNMARKED }, mark)
}

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
  await forgetTurns(database, ehrId)
  await removedEhrs(database).deleteOne({ _id: ehrId })
}

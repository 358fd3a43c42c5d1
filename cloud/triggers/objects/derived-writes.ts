import type { ClientSession } from 'mongodb'
import type { ClassKind, Values } from '../../../records/ehr-records/kind.ts'
import { hasCapacityLimit, requireCapacity } from '../../../records/ehr-records/refusals/capacity.ts'
import type { Caller } from '../../../records/store/documents/caller.ts'
import { documentCollection } from '../../../records/store/documents/database.ts'
import type { ParseDocument } from '../../../records/store/documents/parse-format.ts'
import { recordUpdate } from '../../../records/store/write-ahead.ts'
import {
  joinedRulesOf,
  type RecordTransition,
  writeDerivedRecords,
} from '../../../records/store/writing/derived-records.ts'
import { lockExclusive } from '../../../records/store/writing/ehr-locks.ts'
import {
  runStoreTransaction,
  type StoreContext,
  type Transaction,
} from '../../../records/store/writing/transaction.ts'
import type { DerivedWrite } from '../../../records/store/writing/write-decision.ts'
import type { ParseWrite } from '../../parse-server/adapter/adapter-writes.ts'
import { translateOutage, translateServiceErrors } from '../../request/parse-errors.ts'
import type { TriggerContext } from './trigger-context.ts'

/** Context of a write that may have derived records. */
interface DerivedWriteContext {
  /** The record before and after the write. */
  transition: RecordTransition<{ id: string; ehrId?: string }>
  /** Care plan, if it has been looked up. */
  parent?: ParseDocument | undefined
  /** For updates: names of the changed properties. */
  changed?: string[]
  /** For updates: version of the object that was validated. */
  version?: unknown
}

/**
 * Runs Parse's write in one transaction with everything that belongs to it. Before the write it checks
 * capacity under the exclusive lock of the EHR. With an update it writes history and audit. After the write
 * it stores derived records, such as an alert from a measurement, if the thresholds of the plan require them.
 */
export async function writeWithDerived(
  family: TriggerContext,
  kind: ClassKind,
  caller: Caller,
  { transition, parent, changed = [], version }: DerivedWriteContext,
): Promise<void> {
  const { records, joinWrite } = family
  const { name, recordDerivation } = kind
  const { before, after } = transition
  const { id, ehrId = id } = after ?? before ?? { id: '' }
  const following = await findDerivedWrite(family, kind, caller, { transition, parent })
  const isCounted = hasCapacityLimit(kind) && before === null
  const isUpdate = before !== null && after !== null
  const update = { about: { collection: name, id, ehrId }, changed, version }
  if (isUpdate && !following) return updateWithoutDerived(family, caller, update)
  // Writes of existing objects are always announced; otherwise another object's write could be mistaken for
  // this one.
  if (!following && !isCounted && before === null) return
  const documents = documentCollection(records, name)
  // Parse hides write conflicts of a deletion. This update raises the conflict, so the transaction is
  // repeated.
  const claim = (session: ClientSession) =>
    documents.updateOne({ _id: id }, { $inc: { version: 1 } } as object, { session })
  const write = (save: ParseWrite) =>
    runStoreTransaction(
      records,
      async (tx) => {
        if (isCounted && after) {
          await lockExclusive(records, tx, [ehrId])
          await requireCapacity(records, kind, after as object as Values, tx.session)
        }
        tx.locks.contendFor(id)
        if (after === null) await claim(tx.session)
        const done = isUpdate
          ? await updateWithHistory(records, tx, caller, update, () => save(tx.session))
          : await save(tx.session)
        // The write matched nothing if the caller may not write the object.
        if (recordDerivation && following && (after === null || done))
          await writeDerivedRecords(records, tx, recordDerivation.rulesCollection, [following])
        return done
      },
      { queueFor: isCounted ? [ehrId] : [] },
    )
  await joinWrite(name, id, (save) =>
    translateOutage(translateServiceErrors(() => (isCounted || following ? write(save) : save()))),
  )
}

interface PendingUpdate {
  about: { collection: string; id: string; ehrId: string }
  changed: string[]
  version: unknown
}

/**
 * Runs an update without derived records. Announces it as a replacement of the validated version. If another
 * update came in between, it withdraws the announcement and writes the history with the update.
 */
async function updateWithoutDerived(
  { records, announce, joinWrite }: TriggerContext,
  caller: Caller,
  update: PendingUpdate,
): Promise<void> {
  const { about, changed, version } = update
  const takeBack = await announce(caller, { action: 'update', ...about, version, changed })
  const writeWithHistory = (save: ParseWrite) =>
    runStoreTransaction(records, async (tx) => {
      tx.locks.contendFor(about.id)
      await takeBack(tx)
      return updateWithHistory(records, tx, caller, update, () => save(tx.session))
    })
  await joinWrite(about.collection, about.id, (save) =>
    translateOutage(
      translateServiceErrors(
        async () => (await save(undefined, { version })) ?? (await writeWithHistory(save)),
      ),
    ),
  )
}

/**
 * Runs an update and stores the replaced version, read in the same transaction because another update may
 * have come in between.
 */
async function updateWithHistory(
  records: StoreContext,
  tx: Transaction,
  caller: Caller,
  { about, changed }: PendingUpdate,
  save: () => Promise<unknown>,
): Promise<unknown> {
  const { collection, id } = about
  const before = await documentCollection(records, collection).findOne({ _id: id }, { session: tx.session })
  const done = await save()
  // The write matched nothing if the caller may not write the object.
  if (before && done) recordUpdate(tx, { caller, at: records.clock() }, about, { before, changed })
  return done
}

/** Finds the derived record of a write, if there may be one. */
async function findDerivedWrite(
  { records, find }: TriggerContext,
  { recordDerivation }: ClassKind,
  caller: Caller,
  { transition, parent: knownParent }: DerivedWriteContext,
): Promise<DerivedWrite | undefined> {
  const [write] = recordDerivation?.deriveWrites(caller, transition) ?? []
  if (!write) return undefined
  const [parent, found] = await Promise.all([
    knownParent ?? find('CarePlan', write.parentId),
    write.isNew ? null : documentCollection(records, write.collection).findOne({ _id: write.id }),
  ])
  const rules = parent ? joinedRulesOf(parent) : null
  // If rules exist, a concurrent write of the same object may be creating its derived record.
  const mayFollow = write.isNew ? write.decide(null, rules, records.clock()) : (rules ?? found)
  return mayFollow ? write : undefined
}

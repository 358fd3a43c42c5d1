import type { ClientSession } from 'mongodb'
import type { ClassKind } from '../../records/registered/kind.ts'
import type { Caller } from '../../records/store/documents/caller.ts'
import { documentsOf } from '../../records/store/documents/database.ts'
import type { ParseDocument } from '../../records/store/documents/parse-format.ts'
import { rulesIn, type Written, writeBesides } from '../../records/store/writing/besides.ts'
import { inTransaction } from '../../records/store/writing/transaction.ts'
import { fieldForm } from '../../schemas/forms/class-form.ts'
import type { Family } from './family.ts'

/** A record as the rules know it, of an object's properties. */
export const recordOf = (
  { fields }: ClassKind,
  id: string,
  values: Record<string, unknown>,
): Record<string, unknown> => ({ ...fieldForm(fields, values), id })

/**
 * Has Parse's write of an object take place in one transaction with what follows from it, an alert from a measurement:
 * where anything can follow at all, which the plan tells.
 * @param known the plan, when it has been looked up
 */
export async function alongside(
  { records, find, writeAlong }: Family,
  { name, companion }: ClassKind,
  caller: Caller,
  written: Written<object>,
  known?: ParseDocument,
): Promise<void> {
  const beside = companion?.beside(caller, written)
  if (!companion || !beside) return
  const [holder, found] = await Promise.all([
    known ?? find('CarePlan', beside.holderId),
    beside.isNew ? null : documentsOf(records, companion.collection).findOne({ _id: beside.id }),
  ])
  const rules = holder ? rulesIn(holder) : null
  // Where rules are, another write of the same object may be making what follows from it.
  const mayFollow = beside.isNew ? beside.decide(null, rules, records.clock()) : (rules ?? found)
  if (!mayFollow) return
  // Parse hides that a removal has met another write: met here, the transaction is repeated.
  const claim = (session: ClientSession) =>
    records.db
      .collection<{ _id: string; version: number }>(name)
      .updateOne({ _id: beside.id }, { $inc: { version: 1 } }, { session })
  writeAlong(name, beside.id, (write) =>
    inTransaction(records, async (tx) => {
      if (written.after === null) await claim(tx.session)
      const done = await write(tx.session)
      // Whoever may not write it has found nothing.
      if (written.after === null || done) await writeBesides(records, tx, companion, [beside])
      return done
    }),
  )
}

import type { ClientSession } from 'mongodb'
import type { ClassKind } from '../../../records/registered/kind.ts'
import type { Caller } from '../../../records/store/documents/caller.ts'
import { documentsOf } from '../../../records/store/documents/database.ts'
import type { ParseDocument } from '../../../records/store/documents/parse-format.ts'
import { rulesIn, type Transition, writeCompanions } from '../../../records/store/writing/companions.ts'
import { inTransaction } from '../../../records/store/writing/transaction.ts'
import { fieldForm } from '../../../schemas/forms/class-form.ts'
import type { Family } from './family.ts'

/** A record as the rules know it, of an object's properties. */
export const recordOf = (
  { fields }: ClassKind,
  id: string,
  values: Record<string, unknown>,
): Record<string, unknown> => ({ ...fieldForm(fields, values), id })

/**
 * Does Parse's write of an object in one transaction with what follows from it, as an alert from a measurement, if the
 * plan's thresholds allow for anything to follow.
 * @param known the plan, when it has been looked up
 */
export async function joinCompanion(
  { records, find, joinWrite }: Family,
  { name, companion }: ClassKind,
  caller: Caller,
  transition: Transition<object>,
  known?: ParseDocument,
): Promise<void> {
  const [write] = companion?.writesFor(caller, transition) ?? []
  if (!companion || !write) return
  const [holder, found] = await Promise.all([
    known ?? find('CarePlan', write.holderId),
    write.isNew ? null : documentsOf(records, write.collection).findOne({ _id: write.id }),
  ])
  const rules = holder ? rulesIn(holder) : null
  // Where rules are, another write of the same object may be making what follows from it.
  const mayFollow = write.isNew ? write.decide(null, rules, records.clock()) : (rules ?? found)
  if (!mayFollow) return
  // Parse hides that a removal has met another write: met here, the transaction is repeated.
  const claim = (session: ClientSession) =>
    records.db
      .collection<{ _id: string; version: number }>(name)
      .updateOne({ _id: write.id }, { $inc: { version: 1 } }, { session })
  joinWrite(name, write.id, (save) =>
    inTransaction(records, async (tx) => {
      if (transition.after === null) await claim(tx.session)
      const done = await save(tx.session)
      // Whoever may not write it has found nothing.
      if (transition.after === null || done) await writeCompanions(records, tx, companion.rules, [write])
      return done
    }),
  )
}

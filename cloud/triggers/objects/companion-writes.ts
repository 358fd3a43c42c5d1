import type { ClientSession } from 'mongodb'
import type { ClassKind, Values } from '../../../records/registered/kind.ts'
import { isLimited, requireRoom } from '../../../records/registered/refusals/room.ts'
import type { Caller } from '../../../records/store/documents/caller.ts'
import { documentsOf } from '../../../records/store/documents/database.ts'
import type { ParseDocument } from '../../../records/store/documents/parse-format.ts'
import { rulesIn, type Transition, writeCompanions } from '../../../records/store/writing/companions.ts'
import type { CompanionWrite } from '../../../records/store/writing/decision.ts'
import { inTransaction } from '../../../records/store/writing/transaction.ts'
import { takeTurns } from '../../../records/store/writing/turns.ts'
import { fieldForm } from '../../../schemas/forms/class-form.ts'
import { inParse } from '../../request/refusals.ts'
import type { Family } from './family.ts'

/** A record as the rules know it, of an object's properties. */
export const recordOf = (
  { fields }: ClassKind,
  id: string,
  values: Record<string, unknown>,
): Record<string, unknown> & { id: string } => ({ ...fieldForm(fields, values), id })

/** What an object's write has to do with others. */
interface Around {
  /** The object as the rules know it. */
  transition: Transition<{ id: string; ehrId?: string }>
  /** The plan, when it has been looked up. */
  holder?: ParseDocument | undefined
}

/**
 * Does Parse's write of an object in one transaction with what belongs to it: before it whatever lets it in that others
 * may use up at the same instant, in the turn of the EHR; after it what follows from it, as an alert from a measurement,
 * if the plan's thresholds allow for anything to follow.
 */
export async function joinOthers(
  family: Family,
  kind: ClassKind,
  caller: Caller,
  { transition, holder }: Around,
): Promise<void> {
  const { records, joinWrite, inTurn } = family
  const { name, companion } = kind
  const { before, after } = transition
  const { id, ehrId = '' } = after ?? before ?? { id: '' }
  const following = await companionOf(family, kind, caller, { transition, holder })
  const isCounted = isLimited(kind) && before === null
  if (!following && !isCounted) return
  // Parse hides that a removal has met another write: met here, the transaction is repeated.
  const claim = (session: ClientSession) =>
    records.db
      .collection<{ _id: string; version: number }>(name)
      .updateOne({ _id: id }, { $inc: { version: 1 } }, { session })
  const write = (save: (session: ClientSession) => Promise<unknown>) =>
    inTransaction(records, async (tx) => {
      if (isCounted && after) {
        await takeTurns(records, tx, [ehrId])
        await requireRoom(records, kind, after as object as Values, tx.session)
      }
      if (after === null) await claim(tx.session)
      const done = await save(tx.session)
      // Whoever may not write it has found nothing.
      if (companion && following && (after === null || done))
        await writeCompanions(records, tx, companion.rules, [following])
      return done
    })
  joinWrite(name, id, (save) => inParse(() => (isCounted ? inTurn(ehrId, () => write(save)) : write(save))))
}

/** What follows from a write, if anything may. */
async function companionOf(
  { records, find }: Family,
  { companion }: ClassKind,
  caller: Caller,
  { transition, holder: known }: Around,
): Promise<CompanionWrite | undefined> {
  const [write] = companion?.writesFor(caller, transition) ?? []
  if (!write) return undefined
  const [holder, found] = await Promise.all([
    known ?? find('CarePlan', write.holderId),
    write.isNew ? null : documentsOf(records, write.collection).findOne({ _id: write.id }),
  ])
  const rules = holder ? rulesIn(holder) : null
  // Where rules are, another write of the same object may be making what follows from it.
  const mayFollow = write.isNew ? write.decide(null, rules, records.clock()) : (rules ?? found)
  return mayFollow ? write : undefined
}

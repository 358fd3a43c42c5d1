import type { ClientSession } from 'mongodb'
import type { ClassKind, Values } from '../../../records/registered/kind.ts'
import { isLimited, requireRoom } from '../../../records/registered/refusals/room.ts'
import { noteUpdate } from '../../../records/store/announce.ts'
import type { Caller } from '../../../records/store/documents/caller.ts'
import { documentsOf } from '../../../records/store/documents/database.ts'
import type { ParseDocument } from '../../../records/store/documents/parse-format.ts'
import { rulesIn, type Transition, writeCompanions } from '../../../records/store/writing/companions.ts'
import type { CompanionWrite } from '../../../records/store/writing/decision.ts'
import { inTransaction, type Records, type Transaction } from '../../../records/store/writing/transaction.ts'
import { takeAlone } from '../../../records/store/writing/turns.ts'
import { fieldForm } from '../../../schemas/forms/class-form.ts'
import type { Save } from '../../parse-server/adapter/joint-writes.ts'
import { inParse, tellOutage } from '../../request/refusals.ts'
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
  /** Of an update: the names of the properties that it changes. */
  changed?: string[]
  /** Of an update: the version that it was judged by. */
  version?: unknown
}

/**
 * Does Parse's write of an object in one transaction with what belongs to it: before it whatever lets it in that others
 * may use up at the same instant, in the turn of the EHR; with an update its history and audit; after it what
 * follows from it, as an alert from a measurement, if the plan's thresholds allow for anything to follow.
 */
export async function joinOthers(
  family: Family,
  kind: ClassKind,
  caller: Caller,
  { transition, holder, changed = [], version }: Around,
): Promise<void> {
  const { records, joinWrite } = family
  const { name, companion } = kind
  const { before, after } = transition
  const { id, ehrId = id } = after ?? before ?? { id: '' }
  const following = await companionOf(family, kind, caller, { transition, holder })
  const isCounted = isLimited(kind) && before === null
  const isUpdate = before !== null && after !== null
  const update = { about: { collection: name, id, ehrId }, changed, version }
  if (isUpdate && !following) return updateAlone(family, caller, update)
  // One of an object that is there already is announced all the same: another's might be taken for it.
  if (!following && !isCounted && before === null) return
  const documents = documentsOf(records, name)
  // Parse hides that a removal has met another write: met here, the transaction is repeated.
  const claim = (session: ClientSession) =>
    documents.updateOne({ _id: id }, { $inc: { version: 1 } } as object, { session })
  const write = (save: Save) =>
    inTransaction(
      records,
      async (tx) => {
        if (isCounted && after) {
          await takeAlone(records, tx, [ehrId])
          await requireRoom(records, kind, after as object as Values, tx.session)
        }
        tx.turn.meet(id)
        if (after === null) await claim(tx.session)
        const done = isUpdate
          ? await replaced(records, tx, caller, update, () => save(tx.session))
          : await save(tx.session)
        // Whoever may not write it has found nothing.
        if (companion && following && (after === null || done))
          await writeCompanions(records, tx, companion.rules, [following])
        return done
      },
      { inLineFor: isCounted ? [ehrId] : [] },
    )
  await joinWrite(name, id, (save) =>
    tellOutage(inParse(() => (isCounted || following ? write(save) : save()))),
  )
}

interface Update {
  about: { collection: string; id: string; ehrId: string }
  changed: string[]
  version: unknown
}

/**
 * Does an update with which nothing else is written: announced as what replaces the version that it was judged by. When
 * another one came in between, that is taken back, and the history is written with the update.
 */
async function updateAlone(
  { records, announce, joinWrite }: Family,
  caller: Caller,
  update: Update,
): Promise<void> {
  const { about, changed, version } = update
  const takeBack = await announce(caller, { action: 'update', ...about, version, changed })
  const again = (save: Save) =>
    inTransaction(records, async (tx) => {
      tx.turn.meet(about.id)
      await takeBack(tx)
      return replaced(records, tx, caller, update, () => save(tx.session))
    })
  await joinWrite(about.collection, about.id, (save) =>
    tellOutage(inParse(async () => (await save(undefined, { version })) ?? (await again(save)))),
  )
}

/** Does an update, and keeps what it replaces: read in its transaction, since another one may have come in between. */
async function replaced(
  records: Records,
  tx: Transaction,
  caller: Caller,
  { about, changed }: Update,
  save: () => Promise<unknown>,
): Promise<unknown> {
  const { collection, id } = about
  const before = await documentsOf(records, collection).findOne({ _id: id }, { session: tx.session })
  const done = await save()
  // Whoever may not write it has found nothing.
  if (before && done) noteUpdate(tx, { caller, at: records.clock() }, about, { before, changed })
  return done
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

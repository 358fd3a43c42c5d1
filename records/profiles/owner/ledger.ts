import type { ClientSession } from 'mongodb'
import type { Records, Transaction } from '../../store/writing/transaction.ts'

/** What has to be known of a person's records as a whole. */
interface Page {
  /** The user's id. */
  _id: string
  /** The number that was last given to a relation. */
  relations?: number
  /** Counts the transactions that had to come one after the other. */
  turns?: number
  /** The person was removed on purpose. */
  removed?: true
}

export const ledger = ({ db }: Pick<Records, 'db'>) => db.collection<Page>('profile.ledger')

/**
 * Puts the transactions that depend on several of a person's records one after the other: of those that meet, one
 * goes on, and the others are repeated on what it left.
 */
export async function takeTurn(
  records: Records,
  { session, turn }: Transaction,
  mvUid: string,
): Promise<void> {
  turn.meet(mvUid)
  await ledger(records).updateOne({ _id: mvUid }, { $inc: { turns: 1 } }, { upsert: true, session })
}

/** The number of a new relation: the one that is wanted, or the next after all that were given. */
export async function relationNumber(
  records: Records,
  { session, turn }: Transaction,
  mvUid: string,
  wanted: number | undefined,
): Promise<number> {
  turn.meet(mvUid)
  const change = wanted === undefined ? { $inc: { relations: 1 } } : { $max: { relations: wanted } }
  const options = { upsert: true, returnDocument: 'after', session } as const
  const after = await ledger(records).findOneAndUpdate({ _id: mvUid }, change, options)
  return wanted ?? after?.relations ?? 1
}

export async function noteRemoval(records: Records, { session }: Transaction, mvUid: string): Promise<void> {
  await ledger(records).updateOne({ _id: mvUid }, { $set: { removed: true } }, { upsert: true, session })
}

export async function wasRemoved(records: Records, mvUid: string): Promise<boolean> {
  return (await ledger(records).findOne({ _id: mvUid, removed: true })) !== null
}

/** For a user who is gone. */
export async function closeLedger(records: Pick<Records, 'db'>, mvUid: string, session: ClientSession) {
  await ledger(records).deleteOne({ _id: mvUid }, { session })
}

import type { Collection } from 'mongodb'
import type { Records, Transaction } from './transaction.ts'

/**
 * Puts what adds to an EHR, and what closes or removes there, one after the other: of the transactions that meet, one
 * goes on and the others are repeated on what it left. So nothing new is in a plan that was closed at the same instant.
 */
export async function takeTurns(
  records: Pick<Records, 'db'>,
  { session }: Pick<Transaction, 'session'>,
  ehrIds: readonly string[],
): Promise<void> {
  const turns = [...new Set(ehrIds)].map((_id) => ({
    updateOne: { filter: { _id }, update: { $inc: { turns: 1 } }, upsert: true },
  }))
  await turnsOf(records).bulkWrite(turns, { session, ordered: false })
}

/** A name that no Parse class can have: the class family never reaches it. */
export const turnsOf = ({ db }: Pick<Records, 'db'>): Collection<{ _id: string; turns: number }> =>
  db.collection('ehr.turns')

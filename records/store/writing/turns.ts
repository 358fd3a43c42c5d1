import type { Collection } from 'mongodb'
import { createGroups, type Groups } from '../batching/group.ts'
import type { Records, Transaction } from './transaction.ts'

/**
 * Puts what adds to an EHR, and what closes or removes there, one after the other: of the transactions that meet, one
 * goes on and the others are repeated on what it left. So nothing new is in a plan that was closed at the same instant.
 * @param of EHRs, mostly
 */
export async function takeTurns(
  records: Pick<Records, 'db'>,
  { session }: Pick<Transaction, 'session'>,
  of: readonly string[],
): Promise<void> {
  const turns = [...new Set(of)].map((_id) => ({
    updateOne: { filter: { _id }, update: { $inc: { turns: 1 } }, upsert: true },
  }))
  await turnsOf(records).bulkWrite(turns, { session, ordered: false })
}

/** A name that no Parse class can have: the class family never reaches it. */
export const turnsOf = ({ db }: Pick<Records, 'db'>): Collection<{ _id: string; turns: number }> =>
  db.collection('ehr.turns')

/** What something is made with: it is there as long as that is being made. */
export interface Held {
  collection: string
  id: string
}

/** So many make something with the same record at once without meeting. */
const LANES = 16

const turnIn = ({ collection, id }: Held, lane: number): string => `${collection}/${id}/${lane}`

/** The turns of whoever makes something with these, in one of their lanes; whoever removes one takes them all. */
export const turnsToHold = (held: readonly Held[], lane: number): string[] =>
  held.map((one) => turnIn(one, lane % LANES))

/** Of the transactions that make something with it, and the one that removes it, those that meet are repeated. */
export const takeTurnsToRemove = (
  records: Pick<Records, 'db'>,
  tx: Pick<Transaction, 'session'>,
  held: Held,
): Promise<void> =>
  takeTurns(
    records,
    tx,
    Array.from({ length: LANES }, (_, lane) => turnIn(held, lane)),
  )

/** Does what takes an EHR's turn for long. @throws Unavailable when it does not come to it; what the work throws */
export type QueuedTurns = <T>(ehrId: string, work: () => Promise<T>) => Promise<T>

/**
 * One after the other, for each EHR, what this process does in its turn: work that met itself would be done in vain, and
 * again.
 */
export function queuedTurns(): QueuedTurns {
  const queues = new Map<string, { groups: Groups<() => Promise<void>>; waiting: number }>()
  return async <T>(ehrId: string, work: () => Promise<T>): Promise<T> => {
    const queue = queues.get(ehrId) ?? { groups: createGroups(1, async ([next]) => next?.()), waiting: 0 }
    queues.set(ehrId, queue)
    queue.waiting += 1
    const results: T[] = []
    try {
      await queue.groups.add([async () => void results.push(await work())])
    } finally {
      queue.waiting -= 1
      if (queue.waiting === 0) queues.delete(ehrId)
    }
    return results[0] as T
  }
}

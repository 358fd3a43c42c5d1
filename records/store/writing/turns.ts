import type { Collection } from 'mongodb'
import { createGroups, type Groups } from '../batching/group.ts'
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

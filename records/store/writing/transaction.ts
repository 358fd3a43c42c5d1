import type { LRUCache } from 'lru-cache'
import { type ClientSession, type Db, type MongoClient, MongoError } from 'mongodb'
import type { Access, Audit } from '../audit/trail.ts'
import { together } from '../documents/database.ts'
import type { Work, Works } from '../documents/work.ts'
import { type Change, keepChanges } from './history.ts'
import type { RecentRemovals } from './removal/recent-removals.ts'
import type { Taking, Turns } from './turns.ts'

/** The collections of what goes with an EHR, a care plan, a goal, a task, an event. */
type Contents = Readonly<Record<'Ehr' | 'CarePlan' | 'Goal' | 'Task' | 'Event', readonly string[]>>

/** What the records work with; opened once, handed to every store. */
export interface Records {
  client: MongoClient
  db: Db
  clock: () => Date
  audit: Audit
  contents: Contents
  recentRemovals: RecentRemovals
  underWay: Works
  turns: Turns
  /** What modellers have defined, as it was a moment ago, by collection and name. */
  definitions: LRUCache<string, object>
  /** Notifies a user, if there is one, that an EHR waits until they agree. */
  tellOfPendingEhr(userId: string, session: ClientSession): Promise<void>
}

/** Reads that are reported to the audit together. */
export interface Reading {
  session?: ClientSession
  accesses: Access[]
}

/** Writes that happen together or not at all, with their history and audit entries that belong to them. */
export interface Transaction extends Reading, Taking {
  session: ClientSession
  changes: Change[]
  /** What goes on when they have been written. */
  begun: Work[]
}

/** Does reads that make one answer: they wait for the audit once, however many they are. */
export async function readTogether<T>(records: Records, work: (tx: Reading) => Promise<T>): Promise<T> {
  const accesses: Access[] = []
  try {
    return await work({ accesses })
  } finally {
    await records.audit.record(...accesses)
  }
}

/**
 * Does all writes of `work` in one transaction; what it throws undoes them. `work` may run more than once: when other
 * writers touch the same records, it is repeated on what they left.
 *
 *     await inTransaction(records, async (tx) => {
 *       const plan = await plans.create(caller, planInput, permissions, { tx })
 *       await goals.create(caller, goalInput(plan.id), permissions, { tx })
 *     })
 *
 * @param inLineFor EHRs that it takes alone: it lines up for them at once, not when it has met others
 */
export async function inTransaction<T>(
  records: Records,
  work: (tx: Transaction) => Promise<T>,
  { repeated = true, inLineFor = [] }: { repeated?: boolean; inLineFor?: readonly string[] } = {},
): Promise<T> {
  const audit = records.audit.inTransaction()
  const turn = records.turns.enter()
  for (const ehrId of inLineFor) turn.meet(ehrId)
  let begun: Work[] = []
  const attempt = async (session: ClientSession): Promise<T> => {
    begun = []
    await turn.lineUp()
    const tx: Transaction = { session, changes: [], accesses: [], turn, alone: new Set(), begun }
    const result = await work(tx)
    await keepChanges(records.db, tx.changes, session)
    await audit.write(tx.accesses, session)
    return result
  }
  try {
    const result = await together(records, attempt, repeated)
    audit.settle('written')
    for (const work of begun) records.underWay.begin(work)
    return result
  } catch (error) {
    audit.settle(error instanceof MongoError ? 'in doubt' : 'not written')
    throw error
  } finally {
    turn.leave()
  }
}

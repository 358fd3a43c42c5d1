import type { MongoClient } from 'mongodb'
import { type PeriodicTask, startPeriodicTask } from '../../records/store/batching/periodic-task.ts'
import { APPLICATION_NAME } from './client-options.ts'

const TRANSACTION_CHECK_INTERVAL_MS = 1000
/**
 * Idle limit in microseconds. Live processes do not wait that long between two commands; if one does, its
 * transaction is repeated.
 */
const MAX_IDLE_US = 2_000_000

/**
 * Ends abandoned transactions of all instances. The server keeps the transaction of a dead process, with its
 * locks, for a minute. With this check the next write waits a few seconds only.
 */
export const startEndingAbandonedTransactions = (
  client: MongoClient,
  onFault: (fault: unknown) => void,
): PeriodicTask =>
  startPeriodicTask(TRANSACTION_CHECK_INTERVAL_MS, () => endIdleTransactions(client), onFault)

async function endIdleTransactions(client: MongoClient): Promise<void> {
  const admin = client.db('admin')
  const filter = {
    type: 'idleSession',
    appName: APPLICATION_NAME,
    'transaction.timeInactiveMicros': { $gt: MAX_IDLE_US },
  }
  const pipeline = [{ $currentOp: { idleSessions: true } }, { $match: filter }, { $project: { lsid: 1 } }]
  const idleSessions = await admin.aggregate(pipeline).toArray()
  if (idleSessions.length > 0)
    await admin.command({ killSessions: idleSessions.map(({ lsid }) => ({ id: lsid.id })) })
}

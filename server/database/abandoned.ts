import type { MongoClient } from 'mongodb'
import { type Loop, periodically } from '../../records/store/batching/periodically.ts'
import { APPLICATION } from './replica-set.ts'

const EVERY_MS = 1000
/** No transaction of a process that lives waits as long between two commands; if one does, it is repeated. */
const IDLE_MICROS = 2_000_000

/**
 * A server keeps the transaction of a process that has died for a minute, and with it from everybody else what it has
 * written. This ends such transactions, whichever instance they were of: the next write waits some seconds.
 */
export const endAbandoned = (client: MongoClient, onFault: (fault: unknown) => void): Loop =>
  periodically(EVERY_MS, () => endIdle(client), onFault)

async function endIdle(client: MongoClient): Promise<void> {
  const admin = client.db('admin')
  const abandoned = {
    type: 'idleSession',
    appName: APPLICATION,
    'transaction.timeInactiveMicros': { $gt: IDLE_MICROS },
  }
  const pipeline = [{ $currentOp: { idleSessions: true } }, { $match: abandoned }, { $project: { lsid: 1 } }]
  const found = await admin.aggregate(pipeline).toArray()
  if (found.length > 0) await admin.command({ killSessions: found.map(({ lsid }) => ({ id: lsid.id })) })
}

import { type PeriodicTask, startPeriodicTask } from '../store/batching/periodic-task.ts'
import { syncIndexes } from '../store/documents/indexes.ts'
import { ehrAcceptancesOf, sweepAcceptances } from './acceptance.ts'
import {
  type DatabaseWithContents,
  pendingDeletionsOf,
  sweepPendingDeletions,
} from './deletion/cascading-deletion.ts'
import { deletedEhrsOf, sweepDeletedEhrs } from './deletion/deleted-ehrs.ts'
import { createRoleIndexes } from './rights/roles.ts'

const SWEEP_INTERVAL_MS = 60_000

/**
 * Creates the indexes that Parse cannot create, then finishes interrupted deletions and acceptances: now and
 * every minute.
 */
export async function startEhrMaintenance(
  database: DatabaseWithContents,
  onFault: (fault: unknown) => void,
): Promise<PeriodicTask> {
  await createRoleIndexes(database)
  for (const done of [pendingDeletionsOf(database), deletedEhrsOf(database), ehrAcceptancesOf(database)])
    await syncIndexes(done, [{ key: { at: 1 } }])
  const sweep = async () => {
    await sweepPendingDeletions(database)
    await sweepDeletedEhrs(database, new Date())
    await sweepAcceptances(database, new Date())
  }
  return startPeriodicTask(SWEEP_INTERVAL_MS, sweep, onFault)
}

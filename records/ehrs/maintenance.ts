import { type PeriodicTask, startPeriodicTask } from '../store/batching/periodic-task.ts'
import { syncIndexes } from '../store/documents/indexes.ts'
import type { DatabaseWithContents } from './deletion/cascading-deletion.ts'
import { deletedEhrsOf, purgeDeletedEhrs } from './deletion/deleted-ehrs.ts'
import { createRoleIndexes } from './rights/roles.ts'

const PURGE_INTERVAL_MS = 60_000

/** Creates the indexes that Parse cannot create, then purges deleted EHRs: now and every minute. */
export async function startEhrMaintenance(
  database: DatabaseWithContents,
  beforePurge: (ehrId: string) => Promise<void>,
  onFault: (fault: unknown) => void,
): Promise<PeriodicTask> {
  await createRoleIndexes(database)
  await syncIndexes(deletedEhrsOf(database), [{ key: { at: 1, _id: 1 } }])
  const purge = () => purgeDeletedEhrs(database, new Date(), beforePurge)
  return startPeriodicTask(PURGE_INTERVAL_MS, purge, onFault)
}

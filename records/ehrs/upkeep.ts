import { type Loop, periodically } from '../store/batching/periodically.ts'
import { makeIndexes } from '../store/documents/indexes.ts'
import { agreementsOf, sweepAgreements } from './agreement.ts'
import { type Held, removals, sweepRemovals } from './removal/removal.ts'
import { removedEhrs, sweepRemovedEhrs } from './removal/removed.ts'
import { indexRoles } from './rights/roles.ts'

const SWEEP_EVERY_MS = 60_000

/**
 * Makes the indexes that Parse cannot be told about, and finishes removals and agreements that were cut short: now, and every minute.
 */
export async function startUpkeep(database: Held, onFault: (fault: unknown) => void): Promise<Loop> {
  await indexRoles(database)
  for (const done of [removals(database), removedEhrs(database), agreementsOf(database)])
    await makeIndexes(done, [{ key: { at: 1 } }])
  const sweep = async () => {
    await sweepRemovals(database)
    await sweepRemovedEhrs(database, new Date())
    await sweepAgreements(database, new Date())
  }
  return periodically(SWEEP_EVERY_MS, sweep, onFault)
}

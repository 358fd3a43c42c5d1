import type { Db } from 'mongodb'
import { startPeriodicTask } from '../../records/store/batching/periodic-task.ts'
import type { Log } from './log.ts'

const CHECK_INTERVAL_MS = 60_000
/** The shortest leases and waits take some seconds. */
const MAX_DIFFERENCE_MS = 2_000

/**
 * Compares this machine's clock with that of the database, and warns once until they agree again. Instances judge the
 * leases of others by their own clocks (docs/decisions/clocks.md).
 * @returns a function that ends it
 */
export function startClockCheck(db: Db, log: Log): () => Promise<void> {
  let isWarned = false
  const check = async () => {
    const differenceMs = await measureDifference(db)
    const isTooFar = Math.abs(differenceMs) > MAX_DIFFERENCE_MS
    const seconds = Math.round(Math.abs(differenceMs) / 1000)
    const direction = differenceMs > 0 ? 'ahead of' : 'behind'
    if (isTooFar && !isWarned)
      log.warn(
        `The clock of this machine is ${seconds} s ${direction} that of the database. Set both by NTP.`,
      )
    isWarned = isTooFar
  }
  // Without the database there is nothing to compare with. Its outage is told elsewhere.
  const task = startPeriodicTask(CHECK_INTERVAL_MS, check, () => {})
  return () => task.stop()
}

/** Positive when this clock is ahead. What the duration of the answer explains does not count. */
async function measureDifference(db: Db): Promise<number> {
  const start = Date.now()
  const { localTime } = (await db.admin().command({ hello: 1 })) as { localTime: Date }
  const end = Date.now()
  if (localTime.getTime() < start) return start - localTime.getTime()
  return Math.min(0, end - localTime.getTime())
}

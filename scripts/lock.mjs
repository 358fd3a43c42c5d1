import { randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'

/** Holds one file while a build has the lock. No other build ever uses the name of that file. */
const LOCK = 'dist/build-lock'
const HEARTBEAT_MS = 500
/** After this time without a heartbeat, the owner of the lock counts as killed. */
const STALE_MS = 5000
const POLL_INTERVAL_MS = 50

/** Takes the lock, unless another build has it: a folder can replace an empty folder only. */
function take(owner) {
  const claim = `${LOCK}-${owner}`
  mkdirSync(claim)
  writeFileSync(`${claim}/${owner}`, '')
  try {
    renameSync(claim, LOCK)
    return true
  } catch (error) {
    rmSync(claim, { recursive: true })
    if (['ENOTEMPTY', 'EEXIST'].includes(error.code)) return false
    throw error
  }
}

function isStale(file) {
  const stats = statSync(file, { throwIfNoEntry: false })
  return stats !== undefined && Date.now() - stats.mtimeMs > STALE_MS
}

/** Whether a build has the lock. Removes the file of a killed one, but never that of a build that took over meanwhile. */
function isTaken() {
  const files = readdirSync(LOCK).map((name) => `${LOCK}/${name}`)
  for (const file of files.filter(isStale)) rmSync(file, { force: true })
  return readdirSync(LOCK).length > 0
}

/** @throws when another build has taken over the lock, since this process was stopped for too long */
function beat(file) {
  const now = Date.now() / 1000
  utimesSync(file, now, now)
}

/**
 * Waits until no other build runs in this checkout: each would move files that the other is still writing. Who has the
 * lock must leave the event loop free, for its heartbeat.
 * @returns a function that releases the lock
 */
export async function lockBuilds() {
  const owner = randomUUID()
  mkdirSync(LOCK, { recursive: true })
  while (isTaken() || !take(owner)) await setTimeout(POLL_INTERVAL_MS)
  const file = `${LOCK}/${owner}`
  const heartbeat = setInterval(beat, HEARTBEAT_MS, file)
  return () => {
    clearInterval(heartbeat)
    rmSync(file, { force: true })
  }
}

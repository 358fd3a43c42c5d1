import { mkdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'

const LOCK = 'dist/build.lock'
const HEARTBEAT_MS = 500
/** After this time without a heartbeat, the owner of the lock counts as killed. */
const STALE_MS = 5000
const POLL_INTERVAL_MS = 50

function create() {
  try {
    writeFileSync(LOCK, '', { flag: 'wx' })
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  }
}

function isStale() {
  const lock = statSync(LOCK, { throwIfNoEntry: false })
  return lock !== undefined && Date.now() - lock.mtimeMs > STALE_MS
}

function beat() {
  const now = Date.now() / 1000
  utimesSync(LOCK, now, now)
}

/**
 * Waits until no other build runs in this checkout: each would move files that the other is still writing.
 * @returns a function that releases the lock
 */
export async function lockBuilds() {
  mkdirSync('dist', { recursive: true })
  while (!create()) {
    if (isStale()) rmSync(LOCK, { force: true })
    else await setTimeout(POLL_INTERVAL_MS)
  }
  const heartbeat = setInterval(beat, HEARTBEAT_MS)
  return () => {
    clearInterval(heartbeat)
    rmSync(LOCK, { force: true })
  }
}

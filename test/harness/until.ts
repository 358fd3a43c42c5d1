import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'

/** Waits until something holds; fails when it does not in time. */
export async function until(holds: () => Promise<boolean> | boolean, ms = 10_000): Promise<void> {
  const end = Date.now() + ms
  while (!(await holds())) {
    assert.ok(Date.now() < end, 'it did not happen in time')
    await sleep(25)
  }
}

import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'

/** Longer than anything takes, on a machine that has much else to do, too. */
const PATIENCE_MS = 30_000

/** Looks until there is something. @returns it; fails when it is not there in time */
export async function found<T>(
  look: () => Promise<T | undefined> | T | undefined,
  what: string | (() => string) = 'what was awaited',
): Promise<T> {
  for (const end = Date.now() + PATIENCE_MS; ; await sleep(25)) {
    const seen = await look()
    if (seen !== undefined) return seen
    assert.ok(Date.now() < end, `${typeof what === 'string' ? what : what()} did not come in time`)
  }
}

/** Waits until something holds; fails when it does not in time. */
export async function until(holds: () => Promise<boolean> | boolean): Promise<void> {
  await found(async () => (await holds()) || undefined)
}

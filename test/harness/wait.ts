import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { bySize } from './test-size.ts'

/** Longer than any awaited event takes on a busy machine. */
const WAIT_TIMEOUT_MS = bySize(30_000, 120_000)

/** Polls until there is a value. @returns the value; fails after the timeout */
export async function waitFor<T>(
  look: () => Promise<T | undefined> | T | undefined,
  what: string | (() => string) = 'what was awaited',
): Promise<T> {
  for (const end = Date.now() + WAIT_TIMEOUT_MS; ; await sleep(25)) {
    const value = await look()
    if (value !== undefined) return value
    assert.ok(Date.now() < end, `${typeof what === 'string' ? what : what()} did not come in time`)
  }
}

/** Polls until a condition holds; fails after the timeout. */
export async function waitUntil(holds: () => Promise<boolean> | boolean): Promise<void> {
  await waitFor(async () => (await holds()) || undefined)
}

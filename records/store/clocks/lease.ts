/** The clocks of instances differ by less. */
const MAX_CLOCK_DIFFERENCE_MS = 60_000

/**
 * Whether a lease is held. One that ends later than any new lease was taken before the clock was set back:
 * it would otherwise last until the former time comes again.
 * @param lengthMs the length of a new lease
 */
export function isLeaseHeld(until: Date, lengthMs: number): boolean {
  const left = until.getTime() - Date.now()
  return left > 0 && left <= lengthMs + MAX_CLOCK_DIFFERENCE_MS
}

/** Condition for documents that are due: also those whose time was set before the clock was set back. */
export const dueCondition = (field: string, lengthMs: number, now = Date.now()) => ({
  $or: [
    { [field]: { $lte: new Date(now) } },
    { [field]: { $gt: new Date(now + lengthMs + MAX_CLOCK_DIFFERENCE_MS) } },
  ],
})

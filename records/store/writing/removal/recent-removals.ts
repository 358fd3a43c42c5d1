interface Removal {
  at: number
  /** Whether it came about. */
  done: Promise<boolean>
}

/** No request lives longer than this. */
export const LONGEST_REQUEST_MS = 60_000

/** The removals of the last minute in this process: requests that began before them may still be writing. */
export class RecentRemovals {
  readonly #removals = new Map<string, Removal>()

  /** Whether one of these was removed, once the outcome is known: a removal that fails takes nothing back. */
  async include(...ids: unknown[]): Promise<boolean> {
    for (const id of ids) if (await this.#removals.get(String(id))?.done) return true
    return false
  }

  /** Remembers a removal that has begun, and waits for it. @throws what the removal throws */
  async remember(id: string, removal: Promise<void>): Promise<void> {
    const at = Date.now()
    for (const [other, { at: then }] of this.#removals)
      if (at - then > LONGEST_REQUEST_MS) this.#removals.delete(other)
    const done = removal.then(
      () => true,
      () => false,
    )
    this.#removals.set(id, { at, done })
    await removal
  }

  /** It is there again. */
  forget(id: string): void {
    this.#removals.delete(id)
  }
}

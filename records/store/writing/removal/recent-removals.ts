interface Removal {
  at: number
  /** Resolves to true when the removal succeeded. */
  done: Promise<boolean>
}

/** Upper bound of a request's duration. */
export const MAX_REQUEST_DURATION_MS = 60_000

/**
 * The removals of the last minute in this process. A request that began before a removal may still be writing
 * to the removed record.
 */
export class RecentRemovals {
  readonly #removals = new Map<string, Removal>()

  /** Tells whether one of these ids was removed. Waits for running removals: a failed one does not count. */
  async includesAny(...ids: unknown[]): Promise<boolean> {
    for (const id of ids) if (await this.#removals.get(String(id))?.done) return true
    return false
  }

  /** Records a started removal and waits for it. @throws the error of the removal */
  async trackRemoval(id: string, removal: Promise<void>): Promise<void> {
    const at = Date.now()
    for (const [other, { at: startedAt }] of this.#removals)
      if (at - startedAt > MAX_REQUEST_DURATION_MS) this.#removals.delete(other)
    const done = removal.then(
      () => true,
      () => false,
    )
    this.#removals.set(id, { at, done })
    await removal
  }

  /** Called when the record has been restored. */
  forget(id: string): void {
    this.#removals.delete(id)
  }
}

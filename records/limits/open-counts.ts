/** Counts what is open under each name, such as the connections of an address. */
export class OpenCounts {
  readonly #counts = new Map<string, number>()

  get(name: string): number {
    return this.#counts.get(name) ?? 0
  }

  /** @returns the number with the new one */
  add(name: string): number {
    const count = this.get(name) + 1
    this.#counts.set(name, count)
    return count
  }

  remove(name: string): void {
    const left = this.get(name) - 1
    if (left > 0) this.#counts.set(name, left)
    else this.#counts.delete(name)
  }
}

/** A pseudo-random generator (mulberry32): the same seed makes the same choices. */
export class Random {
  #state: number

  /** @param seed any number, combined with the number of the stream */
  constructor(seed: number, stream = 0) {
    this.#state = Math.imul(seed, 0x9e3779b1) ^ Math.imul(stream + 1, 0x85ebca6b)
  }

  /** A number from 0 up to, but not including, 1. */
  fraction(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }

  int(from: number, to: number): number {
    return from + Math.floor(this.fraction() * (to - from + 1))
  }

  chance(share: number): boolean {
    return this.fraction() < share
  }

  /** @throws RangeError for an empty list */
  pick<T>(list: readonly T[]): T {
    if (list.length === 0) throw new RangeError('nothing to pick from')
    return list[this.int(0, list.length - 1)] as T
  }

  /** An element of the list, later ones more often. */
  pickLate<T>(list: readonly T[]): T {
    return this.pick(list.slice(this.int(0, list.length - 1)))
  }

  /** A choice with a probability in proportion to its weight. */
  weighted<T>(choices: readonly (readonly [weight: number, choice: T])[]): T {
    let left = this.fraction() * choices.reduce((sum, [weight]) => sum + weight, 0)
    for (const [weight, choice] of choices) {
      left -= weight
      if (left < 0) return choice
    }
    return this.pick(choices)[1]
  }

  /** Some elements of the list, in its order. */
  some<T>(list: readonly T[], share: number): T[] {
    return list.filter(() => this.chance(share))
  }

  hex(length: number): string {
    return Array.from({ length }, () => this.int(0, 15).toString(16)).join('')
  }
}

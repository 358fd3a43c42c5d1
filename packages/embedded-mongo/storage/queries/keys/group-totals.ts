import { roundingError } from '../../../language/expressions/operators/sum.ts'
import { isInt32 } from '../../collections/keys/key-reader.ts'

/** Numbers added up. */
export interface Totals {
  count: number
  /** The sum of whole numbers, that of others, and what rounding lost of it. */
  whole: number
  double: number
  lost: number
  hasDoubles: boolean
  least: number
  most: number
}

/** The places of a group's parts. */
const COUNT = 0
const WHOLE = 1
const DOUBLE = 2
const LOST = 3
const DOUBLES = 4
const LEAST = 5
const GREATEST = 6
const PARTS = 7

/** The numbers of many groups, added up in one array: an object for each group would take twice the time. */
export class GroupTotals {
  #parts = new Float64Array(PARTS)
  #groups = 0

  add(group: number, number: number): void {
    while (group >= this.#groups) this.#addGroup()
    const parts = this.#parts
    const at = group * PARTS
    ;(parts[at + COUNT] as number)++
    if (isInt32(number)) (parts[at + WHOLE] as number) += number
    else {
      const before = parts[at + DOUBLE] as number
      const sum = before + number
      ;(parts[at + LOST] as number) += roundingError(before, number, sum)
      parts[at + DOUBLE] = sum
      ;(parts[at + DOUBLES] as number)++
    }
    if (number < (parts[at + LEAST] as number)) parts[at + LEAST] = number
    if (number > (parts[at + GREATEST] as number)) parts[at + GREATEST] = number
  }

  #addGroup(): void {
    const at = this.#groups++ * PARTS
    if (at + PARTS > this.#parts.length) {
      const more = new Float64Array(this.#parts.length * 2)
      more.set(this.#parts)
      this.#parts = more
    }
    this.#parts[at + LEAST] = Number.POSITIVE_INFINITY
    this.#parts[at + GREATEST] = Number.NEGATIVE_INFINITY
  }

  of(group: number): Totals {
    while (group >= this.#groups) this.#addGroup()
    const part = (place: number): number => this.#parts[group * PARTS + place] as number
    return {
      count: part(COUNT),
      whole: part(WHOLE),
      double: part(DOUBLE),
      lost: part(LOST),
      hasDoubles: part(DOUBLES) > 0,
      least: part(LEAST),
      most: part(GREATEST),
    }
  }

  /** Whether no sum of whole numbers has been rounded. */
  areExact(): boolean {
    for (let group = 0; group < this.#groups; group++)
      if (!Number.isSafeInteger(this.#parts[group * PARTS + WHOLE])) return false
    return true
  }
}

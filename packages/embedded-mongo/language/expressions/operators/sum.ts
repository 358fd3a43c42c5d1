import { Decimal128, Double } from 'bson'
import { bsonType, toNumber } from '../../../values/bson-values.ts'
import {
  calculate,
  exactDecimal,
  isDecimal,
  isDouble,
  toDecimal128,
  toSmallestInteger,
  toWhole,
} from '../arithmetic.ts'

/** The rounding error of the sum of two doubles. */
export const roundingError = (a: number, b: number, sum: number): number =>
  Math.abs(a) >= Math.abs(b) ? a - sum + b : b - sum + a

const isLong = (value: unknown): boolean => bsonType(value) === 'Long'

/** Integers, doubles, and the rounding errors of the latter. */
export interface PartialSum {
  whole: number
  double: number
  lost: number
  hasDoubles: boolean
}

const ZERO = Decimal128.fromString('0')

/** A sum without intermediate rounding: doubles with their rounding errors, integers without limit. */
export class Sum {
  readonly #short: boolean
  #whole = 0n
  #double = 0
  #lost = 0
  #start: Decimal128 | undefined
  #decimal: Decimal128 | undefined
  #type: 'int' | 'long' | 'double' = 'int'

  /** @param short beside decimals, a double counts with 15 digits, and a first decimal stays unchanged */
  constructor(short = false) {
    this.#short = short
    if (!short) this.#start = ZERO
  }

  /** The sum of doubles and 32-bit integers that were added up elsewhere, in the same way. */
  static of({ whole, double, lost, hasDoubles }: PartialSum): Sum {
    const sum = new Sum()
    sum.#whole = BigInt(whole)
    sum.#double = double
    sum.#lost = lost
    if (hasDoubles) sum.#type = 'double'
    return sum
  }

  add(value: unknown): void {
    if (isDecimal(value)) this.#decimal = this.#plus(value)
    else if (isDouble(value)) {
      this.#type = 'double'
      this.#addDouble(toNumber(value))
    } else {
      if (isLong(value) && this.#type === 'int') this.#type = 'long'
      this.#whole += toWhole(value)
    }
  }

  #plus(value: Decimal128): Decimal128 {
    const before = this.#decimal ?? this.#start
    return before ? (calculate('add', before, value) as Decimal128) : value
  }

  #addDouble(value: number): void {
    const sum = this.#double + value
    this.#lost += roundingError(this.#double, value, sum)
    this.#double = sum
  }

  /** The sum without its decimals, as a double. */
  get double(): number {
    const high = Number(this.#whole)
    const low = Number(this.#whole - BigInt(Number(this.#whole)))
    const sum = this.#double + high
    return Number.isFinite(sum) ? sum + (this.#lost + low) : sum
  }

  get value(): unknown {
    if (this.#decimal) {
      const whole = Decimal128.fromStringWithRounding(String(this.#whole))
      const total = this.#whole === 0n ? this.#decimal : calculate('add', this.#decimal, whole)
      if (this.#type !== 'double') return total
      const parts = this.#lost && Number.isFinite(this.#double) ? [this.#double, this.#lost] : [this.#double]
      const decimalOf = this.#short ? toDecimal128 : exactDecimal
      return parts.reduce<unknown>((sum, part) => calculate('add', sum, decimalOf(part)), total)
    }
    if (this.#type === 'double') return new Double(this.double)
    if (BigInt.asIntN(64, this.#whole) !== this.#whole) return new Double(Number(this.#whole))
    return toSmallestInteger(this.#whole, this.#type === 'long')
  }
}

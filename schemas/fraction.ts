/**
 * An exact rational number. Units and means divide, so decimals would not be exact; and a floating-point
 * result just below a bound puts a value into the wrong class.
 */
export class Fraction {
  private readonly numerator: bigint
  private readonly denominator: bigint

  private constructor(numerator: bigint, denominator: bigint) {
    this.numerator = numerator
    this.denominator = denominator
  }

  /** The decimal number that a client sent: 76.8 is 768/10, not its nearest binary fraction. */
  static of(value: number | Fraction): Fraction {
    if (value instanceof Fraction) return value
    if (Number.isSafeInteger(value)) return new Fraction(BigInt(value), 1n)
    const [digits = '', exponent = '0'] = String(value).split('e')
    const [whole = '', decimals = ''] = digits.split('.')
    const power = Number(exponent) - decimals.length
    const shift = 10n ** BigInt(Math.abs(power))
    const allDigits = BigInt(whole + decimals)
    return power < 0 ? new Fraction(allDigits, shift) : new Fraction(allDigits * shift, 1n)
  }

  plus(other: number | Fraction): Fraction {
    const { numerator, denominator } = Fraction.of(other)
    return new Fraction(
      this.numerator * denominator + numerator * this.denominator,
      this.denominator * denominator,
    )
  }

  times(other: number | Fraction): Fraction {
    const { numerator, denominator } = Fraction.of(other)
    return new Fraction(this.numerator * numerator, this.denominator * denominator)
  }

  minus(other: number | Fraction): Fraction {
    return this.plus(Fraction.of(other).times(-1))
  }

  /** @throws RangeError when the divisor is 0 */
  dividedBy(other: number | Fraction): Fraction {
    const { numerator, denominator } = Fraction.of(other)
    if (numerator === 0n) throw new RangeError('division by 0')
    return this.times(
      numerator < 0n ? new Fraction(-denominator, -numerator) : new Fraction(denominator, numerator),
    )
  }

  /** Below 0, 0 or above 0, as this number is below, equal to or above the other one, which may be infinite. */
  compareTo(other: number | Fraction): number {
    if (typeof other === 'number' && !Number.isFinite(other)) return -Math.sign(other)
    const { numerator, denominator } = Fraction.of(other)
    const scaledNumerator = this.numerator * denominator
    const otherNumerator = numerator * this.denominator
    return scaledNumerator < otherNumerator ? -1 : scaledNumerator > otherNumerator ? 1 : 0
  }

  /** @throws RangeError when the divisor is 0 */
  isMultipleOf(divisor: number | Fraction): boolean {
    const { numerator, denominator } = Fraction.of(divisor)
    return (this.numerator * denominator) % (numerator * this.denominator) === 0n
  }

  /** Rounds half up, in both directions from 0. */
  round(decimals: number): number {
    const magnitude = this.numerator < 0n ? -this.numerator : this.numerator
    const divisor = 2n * this.denominator
    const digits = (2n * magnitude * 10n ** BigInt(decimals) + this.denominator) / divisor
    if (digits === 0n) return 0
    return Number(`${this.numerator < 0n ? '-' : ''}${digits}e-${decimals}`)
  }

  /** The nearest floating-point number. */
  toNumber(): number {
    return this.round(NEAREST_DECIMALS)
  }
}

/** More digits than a floating-point number has, for all values that can be measured. */
const NEAREST_DECIMALS = 30

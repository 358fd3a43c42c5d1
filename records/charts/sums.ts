import { roundKeepingDigits } from '../../schemas/measurements/units.ts'

/** A sum of extreme values would overflow, so sums are scaled by a power of two, which keeps all digits. */
const SCALE = 2 ** -64

/** Adds a value to a sum, whose mean {@link meanOf} calculates. */
export const addToSum = (sum: number, value: number): number => sum + value * SCALE

const clamp = (value: number, min: number, max: number): number => Math.min(Math.max(value, min), max)

/** The mean of values, rounded for output and not beyond them. */
export const meanOf = (
  sum: number,
  { count, min, max }: { count: number; min: number; max: number },
): number => clamp(roundKeepingDigits(clamp(sum / count / SCALE, min, max), 4), min, max)

/** The nearest finite number. */
export const clampNumber = (value: number): number => clamp(value, -Number.MAX_VALUE, Number.MAX_VALUE)

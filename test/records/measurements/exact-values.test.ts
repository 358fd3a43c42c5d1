import assert from 'node:assert/strict'
import fc from 'fast-check'
import { classifyBloodPressure } from '../../../records/measurements/calculations/blood-pressure-condition.ts'
import { calculateBmi, whoAdultPreset } from '../../../records/measurements/calculations/bmi.ts'
import { roundTo } from '../../../schemas/measurements/units.ts'

const RUNS = { numRuns: 10_000 }

/** A decimal number as it is written, and as an integer of 10^-decimals: the reference does not divide. */
const decimal = (min: number, max: number, decimals: number) =>
  fc.integer({ min: min * 10 ** decimals, max: max * 10 ** decimals }).map((scaled) => ({
    scaled: BigInt(scaled),
    number: Number(`${scaled}e-${decimals}`),
  }))

/** Rounds a quotient of positive integers half up. */
const quotient = (dividend: bigint, divisor: bigint, decimals: number): number =>
  Number(`${(2n * dividend * 10n ** BigInt(decimals) + divisor) / (2n * divisor)}e-${decimals}`)

describe('calculations', () => {
  it('give the BMI and the category of the exact quotient', () => {
    const bounds = whoAdultPreset.bands.map(({ code, bmi }) => ({ code, from: BigInt(10 * (bmi?.gte ?? 0)) }))
    // kg/m2 of kilograms/1000 and centimetres/10.
    const dividendOf = (kg: bigint) => kg * 1_000_000n
    const expectBmi = (kg: { scaled: bigint; number: number }, cm: { scaled: bigint; number: number }) => {
      const [dividend, divisor] = [dividendOf(kg.scaled), 1000n * cm.scaled * cm.scaled]
      const params = { weight: kg.number, weightUnit: 'kg', height: cm.number, heightUnit: 'cm' }
      const category = bounds.findLast(({ from }) => dividend * 10n >= from * divisor)?.code
      const { bmi, category: found } = calculateBmi(params)
      assert.deepEqual([bmi, found], [quotient(dividend, divisor, 1), category], JSON.stringify(params))
    }
    fc.assert(fc.property(decimal(20, 300, 3), decimal(100, 230, 1), expectBmi), RUNS)
    // The bounds themselves, and the last gram below them.
    for (const { from } of bounds.slice(1))
      for (let mm = 1000n; mm <= 2300n; mm += 10n) {
        const grams = (from * mm * mm) / 10_000n
        for (const scaled of [grams, grams - 1n, grams + 1n])
          expectBmi({ scaled, number: Number(`${scaled}e-3`) }, { scaled: mm, number: Number(`${mm}e-1`) })
      }
  })

  it('classify a pressure in kPa before they round it', () => {
    const names = ['optimal', 'normal', 'high-normal', 'grade1', 'grade2', 'grade3']
    const bounds = [0n, 120n, 130n, 140n, 160n, 180n]
    fc.assert(
      fc.property(decimal(10, 30, 7), ({ scaled, number }) => {
        const severity = bounds.findLastIndex((mmHg) => scaled * 100_000n >= mmHg * 133_322_387_415n)
        const { condition, normalised } = classifyBloodPressure({
          ...{ systolic: number, diastolic: 8, unit: 'kPa', thresholds: 'esc2018' },
        })
        assert.equal(condition, names[severity], `${number} kPa`)
        assert.equal(normalised.systolic, quotient(scaled * 100_000n, 133_322_387_415n, 2))
      }),
      RUNS,
    )
  })

  it('round half up', () => {
    assert.deepEqual(
      [22.45, 1.005, 0.285, 5.625, 22.449].map((one) => roundTo(one, 2)),
      [22.45, 1.01, 0.29, 5.63, 22.45],
    )
    assert.deepEqual(
      [22.45, 0.25, -0.25, -0.04, 1e-7, 1e21].map((one) => roundTo(one, 1)),
      [22.5, 0.3, -0.3, 0, 0, 1e21],
    )
    fc.assert(
      fc.property(decimal(0, 1_000_000, 3), ({ scaled, number }) =>
        assert.equal(roundTo(number, 1), quotient(scaled, 1000n, 1)),
      ),
      RUNS,
    )
  })
})

import assert from 'node:assert/strict'
import fc from 'fast-check'
import {
  adultCategoryOf,
  bmiViolations,
  calculateBmi,
} from '../../../records/measurements/calculations/bmi.ts'
import { Fraction } from '../../../schemas/fraction.ts'
import { readCorpusFile } from '../../harness/corpus.ts'

interface Vectors {
  bmi: { kg: number; m: number; bmi: number; category: string }[]
  bmiUnits: { weight: number; weightUnit: string; height: number; heightUnit: string; bmi: number }[]
}

const metric = (kg: number, m: number) =>
  calculateBmi({ weight: kg, weightUnit: 'kg', height: m, heightUnit: 'm' })

describe('bmi', () => {
  it('scores the vectors', function () {
    const vectors = readCorpusFile<Vectors>(this, 'vectors/scoring-vectors.json')
    for (const { kg, m, bmi: expected, category } of vectors.bmi)
      assert.deepEqual([metric(kg, m).bmi, metric(kg, m).category], [expected, category], `${kg} kg, ${m} m`)
    for (const { bmi: expected, ...params } of vectors.bmiUnits)
      assert.equal(calculateBmi(params).bmi, expected)
  })

  it('returns the index with 1 decimal and the adult category', () => {
    assert.deepEqual(metric(70, 1.75), {
      bmi: 22.9,
      unit: 'kg/m2',
      category: 'normal',
      classification: 'who-adult',
    })
    assert.equal(calculateBmi({ weight: 154, weightUnit: 'lb', height: 70, heightUnit: 'in' }).bmi, 22.1)
  })

  it('starts each category at its lower bound, before rounding', () => {
    const categories = [15.99, 16, 16.99, 17, 18.49, 18.5, 24.99, 25, 29.99, 30, 34.99, 35, 39.99, 40].map(
      (bmi) => adultCategoryOf(Fraction.of(bmi)),
    )
    assert.deepEqual(categories, [
      'severe-thinness',
      ...['moderate-thinness', 'mild-thinness', 'normal', 'pre-obese', 'obese-1', 'obese-2'].flatMap(
        (one) => [one, one],
      ),
      'obese-3',
    ])
  })

  it('has no adult category below the age of 20', () => {
    const child = calculateBmi({ weight: 30, weightUnit: 'kg', height: 130, heightUnit: 'cm', age: 8 })
    assert.deepEqual(child, { bmi: 17.8, unit: 'kg/m2', category: null, classification: null })
    assert.deepEqual(
      [19, 20].map((age) => adultCategoryOf(Fraction.of(22), age)),
      [null, 'normal'],
    )
  })

  it('rises with the weight and falls with the height', () => {
    const kg = fc.double({ min: 0.3, max: 600, noNaN: true })
    const m = fc.double({ min: 0.2, max: 2.5, noNaN: true })
    fc.assert(
      fc.property(kg, m, (weight, height) => {
        assert.ok(metric(weight * 1.01, height).bmi >= metric(weight, height).bmi)
        assert.ok(metric(weight, height * 1.01).bmi <= metric(weight, height).bmi)
      }),
    )
  })

  it('reports values out of range and unknown units', () => {
    const violations = bmiViolations({ weight: 1000, weightUnit: 'kg', height: 1.8, heightUnit: 'metres' })
    assert.deepEqual(
      violations.map(({ path }) => path),
      ['weight', 'heightUnit'],
    )
  })
})

import assert from 'node:assert/strict'
import fc from 'fast-check'
import {
  acq,
  acqChange,
  acqViolations,
  fev1Item,
  relieverItem,
} from '../../../records/measurements/calculations/scores/acq.ts'
import type { AcqResult } from '../../../schemas/acq.ts'
import { corpus } from '../../harness/corpus.ts'

interface Vectors {
  acq: { items: (number | null)[]; version: 5 | 6 | 7; expect: Partial<AcqResult> & { missing: number } }[]
  acqFev1: { pct: number; item: number }[]
  acqPuffs: { n: number; item: number }[]
  acqChange: { from: number; to: number; delta: number; clinicallyImportant: boolean }[]
}

describe('acq', () => {
  it('scores the vectors', function () {
    const vectors = corpus<Vectors>(this, 'vectors/scoring-vectors.json')
    for (const { items, version, expect } of vectors.acq) {
      const { missing, ...expected } = expect
      const result = acq({ version, answers: items })
      for (const [key, value] of Object.entries(expected)) assert.equal(result[key as keyof AcqResult], value)
      assert.equal(result.answered, version - missing)
    }
    for (const { pct, item } of vectors.acqFev1) assert.equal(fev1Item(pct), item, `${pct} %`)
    for (const { n, item } of vectors.acqPuffs) assert.equal(relieverItem(n), item, `${n} puffs`)
    for (const { from, to, delta, clinicallyImportant: important } of vectors.acqChange)
      assert.deepEqual(acqChange(from, to), { delta, important })
  })

  it('has limits of its own from 6 to 17 years', () => {
    const controlAt = (age?: number) =>
      acq({ version: 5, answers: [1, 1, 1, 2, 2], ...(age !== undefined && { age }) }).control
    assert.deepEqual(
      [undefined, 5, 6, 17, 17.9, 18].map(controlAt),
      ['', '', 'not-well', 'not-well', 'not-well', ''].map((not) =>
        not ? 'not-well-controlled' : 'borderline',
      ),
    )
    assert.deepEqual(
      [acqChange(1.9, 1.5), acqChange(1.9, 1.5, 12)].map(({ important }) => important),
      [false, true],
    )
  })

  it('does not depend on the order of the answers', () => {
    const shuffled = fc
      .array(fc.option(fc.integer({ min: 0, max: 6 })), { minLength: 5, maxLength: 7 })
      .chain((items) => fc.tuple(fc.constant(items), fc.shuffledSubarray(items, { minLength: items.length })))
    fc.assert(
      fc.property(shuffled, ([one, other]) => {
        const version = one.length as 5 | 6 | 7
        assert.deepEqual(acq({ version, answers: other }), acq({ version, answers: one }))
      }),
    )
  })

  it('turned round, is what is left of 6', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 6 }), { minLength: 5, maxLength: 7 }), (items) => {
        const version = items.length as 5 | 6 | 7
        const { sum } = acq({ version, answers: items.map((item) => 6 - item) })
        assert.equal(sum, 6 * version - (acq({ version, answers: items }).sum ?? 0))
      }),
    )
  })

  it('is the unweighted mean, classified before it is rounded', () => {
    assert.deepEqual(acq({ version: 5, answers: [1, 1, 1, 1, 1] }), {
      score: 1,
      sum: 5,
      answered: 5,
      control: 'borderline',
    })
    assert.equal(acq({ version: 6, answers: [2, 1, 2, 1, 1, 2] }).control, 'not-well-controlled')
    assert.equal(acq({ version: 7, answers: [1, 1, 1, 0, 0, 1, 1] }).control, 'well-controlled')
  })

  it('has no score when an answer is missing', () => {
    assert.deepEqual(acq({ version: 5, answers: [1, null, 1, 1, 1] }), {
      score: null,
      sum: null,
      answered: 4,
      control: null,
    })
  })

  it('answers items 6 and 7 by reliever use and FEV1', () => {
    const facts = { relieverPuffs: 5, fev1PercentPredicted: 85 }
    assert.equal(acq({ version: 7, answers: [1, 1, 1, 1, 1], ...facts }).sum, 10)
    assert.equal(acq({ version: 7, answers: [1, 1, 1, 1, 1, null, null], ...facts }).sum, 10)
    assert.deepEqual(acqViolations({ version: 7, answers: [1, 1, 1, 1, 1, null], ...facts }), [])
  })

  it('refuses too few or too many answers, and facts that answer nothing', () => {
    const paths = (params: Parameters<typeof acqViolations>[0]) =>
      acqViolations(params).map(({ path }) => path)
    assert.deepEqual(paths({ version: 6, answers: [1, 1, 1, 1, 1] }), ['answers'])
    assert.deepEqual(paths({ version: 5, answers: [1, 1, 1, 1, 1, 1] }), ['answers'])
    assert.deepEqual(paths({ version: 5, answers: [1, 1, 1, 1, 1], relieverPuffs: 1 }), ['relieverPuffs'])
    assert.deepEqual(paths({ version: 6, answers: [1, 1, 1, 1, 1, 1], relieverPuffs: 1 }), ['relieverPuffs'])
  })

  it('stays between its smallest and its largest answer', () => {
    const answers = fc.array(fc.integer({ min: 0, max: 6 }), { minLength: 5, maxLength: 7 })
    fc.assert(
      fc.property(answers, (items) => {
        const { score } = acq({ version: items.length as 5 | 6 | 7, answers: items })
        assert.ok(score !== null && score >= Math.min(...items) - 0.01 && score <= Math.max(...items) + 0.01)
      }),
    )
  })

  it('falls as FEV1 grows and grows with the puffs', () => {
    const any = fc.double({ min: 0, max: 200, noNaN: true })
    fc.assert(
      fc.property(any, any, (a, b) => {
        const [low, high] = [Math.min(a, b), Math.max(a, b)]
        assert.ok(fev1Item(low) >= fev1Item(high))
        assert.ok(relieverItem(low) <= relieverItem(high))
      }),
    )
  })
})

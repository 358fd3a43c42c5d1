import assert from 'node:assert/strict'
import fc from 'fast-check'
import {
  acqViolations,
  compareAcqMeans,
  fev1Item,
  relieverItem,
  scoreAcq,
} from '../../../records/measurements/calculations/scores/acq-score.ts'
import type { AcqResult } from '../../../schemas/measurements/acq.ts'
import { readCorpusFile } from '../../harness/corpus.ts'

interface Vectors {
  acq: { items: (number | null)[]; version: 5 | 6 | 7; expect: Partial<AcqResult> & { missing: number } }[]
  acqFev1: { pct: number; item: number }[]
  acqPuffs: { n: number; item: number }[]
  acqChange: { from: number; to: number; delta: number; clinicallyImportant: boolean }[]
}

describe('acq', () => {
  it('scores the vectors', function () {
    const vectors = readCorpusFile<Vectors>(this, 'vectors/scoring-vectors.json')
    for (const { items, version, expect } of vectors.acq) {
      const { missing, ...expected } = expect
      const result = scoreAcq({ version, answers: items })
      for (const [key, value] of Object.entries(expected)) assert.equal(result[key as keyof AcqResult], value)
      assert.equal(result.answered, version - missing)
    }
    for (const { pct, item } of vectors.acqFev1) assert.equal(fev1Item(pct), item, `${pct} %`)
    for (const { n, item } of vectors.acqPuffs) assert.equal(relieverItem(n), item, `${n} puffs`)
    for (const { from, to, delta, clinicallyImportant: important } of vectors.acqChange)
      assert.deepEqual(compareAcqMeans(from, to), { delta, important })
  })

  it('has different limits from 6 to 17 years', () => {
    const controlAt = (age?: number) =>
      scoreAcq({ version: 5, answers: [1, 1, 1, 2, 2], ...(age !== undefined && { age }) }).control
    assert.deepEqual(
      [undefined, 5, 6, 17, 17.9, 18].map(controlAt),
      ['', '', 'not-well', 'not-well', 'not-well', ''].map((not) =>
        not ? 'not-well-controlled' : 'borderline',
      ),
    )
    assert.deepEqual(
      [compareAcqMeans(1.9, 1.5), compareAcqMeans(1.9, 1.5, 12)].map(({ important }) => important),
      [false, true],
    )
  })

  it('ignores the order of the answers', () => {
    const shuffled = fc
      .array(fc.option(fc.integer({ min: 0, max: 6 })), { minLength: 5, maxLength: 7 })
      .chain((items) => fc.tuple(fc.constant(items), fc.shuffledSubarray(items, { minLength: items.length })))
    fc.assert(
      fc.property(shuffled, ([one, other]) => {
        const version = one.length as 5 | 6 | 7
        assert.deepEqual(scoreAcq({ version, answers: other }), scoreAcq({ version, answers: one }))
      }),
    )
  })

  it('gives 6 minus the score for reversed answers', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 6 }), { minLength: 5, maxLength: 7 }), (items) => {
        const version = items.length as 5 | 6 | 7
        const { sum } = scoreAcq({ version, answers: items.map((item) => 6 - item) })
        assert.equal(sum, 6 * version - (scoreAcq({ version, answers: items }).sum ?? 0))
      }),
    )
  })

  it('is the unweighted mean, classified before rounding', () => {
    assert.deepEqual(scoreAcq({ version: 5, answers: [1, 1, 1, 1, 1] }), {
      score: 1,
      sum: 5,
      answered: 5,
      control: 'borderline',
    })
    assert.equal(scoreAcq({ version: 6, answers: [2, 1, 2, 1, 1, 2] }).control, 'not-well-controlled')
    assert.equal(scoreAcq({ version: 7, answers: [1, 1, 1, 0, 0, 1, 1] }).control, 'well-controlled')
  })

  it('has no score if an answer is missing', () => {
    assert.deepEqual(scoreAcq({ version: 5, answers: [1, null, 1, 1, 1] }), {
      score: null,
      sum: null,
      answered: 4,
      control: null,
    })
  })

  it('answers items 6 and 7 from reliever use and FEV1', () => {
    assert.deepEqual([95.1, 95, 90, 89.9, 50, 49.9].map(fev1Item), [0, 1, 1, 2, 5, 6])
    const facts = { relieverPuffs: 5, fev1PercentPredicted: 85 }
    assert.equal(scoreAcq({ version: 7, answers: [1, 1, 1, 1, 1], ...facts }).sum, 10)
    assert.equal(scoreAcq({ version: 7, answers: [1, 1, 1, 1, 1, null, null], ...facts }).sum, 10)
    assert.deepEqual(acqViolations({ version: 7, answers: [1, 1, 1, 1, 1, null], ...facts }), [])
  })

  it('refuses too few or too many answers, and values that answer no item', () => {
    const paths = (params: Parameters<typeof acqViolations>[0]) =>
      acqViolations(params).map(({ path }) => path)
    assert.deepEqual(paths({ version: 6, answers: [1, 1, 1, 1, 1] }), ['answers'])
    assert.deepEqual(paths({ version: 5, answers: [1, 1, 1, 1, 1, 1] }), ['answers'])
    assert.deepEqual(paths({ version: 5, answers: [1, 1, 1, 1, 1], relieverPuffs: 1 }), ['relieverPuffs'])
    assert.deepEqual(paths({ version: 6, answers: [1, 1, 1, 1, 1, 1], relieverPuffs: 1 }), ['relieverPuffs'])
  })

  it('lies between its smallest and its largest answer', () => {
    const answers = fc.array(fc.integer({ min: 0, max: 6 }), { minLength: 5, maxLength: 7 })
    fc.assert(
      fc.property(answers, (items) => {
        const { score } = scoreAcq({ version: items.length as 5 | 6 | 7, answers: items })
        assert.ok(score !== null && score >= Math.min(...items) - 0.01 && score <= Math.max(...items) + 0.01)
      }),
    )
  })

  it('falls as FEV1 rises and rises with the puffs', () => {
    const any = fc.double({ min: 0, max: 200, noNaN: true })
    fc.assert(
      fc.property(any, any, (a, b) => {
        const low = Math.min(a, b)
        const high = Math.max(a, b)
        assert.ok(fev1Item(low) >= fev1Item(high))
        assert.ok(relieverItem(low) <= relieverItem(high))
      }),
    )
  })
})

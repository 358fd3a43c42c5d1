import assert from 'node:assert/strict'
import fc from 'fast-check'
import {
  hadsAnswersFromOptions,
  scoreHads,
} from '../../../records/measurements/calculations/scores/hads-score.ts'
import { readCorpusFile } from '../../harness/corpus.ts'

type Items = (number | null)[]
type Subscale = { score: number | null; missing: number; band?: string }
type Expected = { anxiety: Subscale; depression: Subscale }

interface Vectors {
  hadsScored: { items: Items; expect: Expected }[]
  hadsOptionIndex: { optionIndex: number[]; scored: number[]; expect: Expected }[]
}

const answer = fc.integer({ min: 0, max: 3 })
const full = fc.array(answer, { minLength: 14, maxLength: 14 })
const answers = fc.array(fc.option(answer), { minLength: 14, maxLength: 14 })
const numbered = (subscale: 'anxiety' | 'depression') => (_: unknown, i: number) =>
  i % 2 === (subscale === 'anxiety' ? 0 : 1)

describe('hads', () => {
  it('scores the vectors', function () {
    const vectors = readCorpusFile<Vectors>(this, 'vectors/scoring-vectors.json')
    const withBands = ({ anxiety, depression }: Expected) => ({
      anxiety: { band: null, ...anxiety },
      depression: { band: null, ...depression },
    })
    for (const { items, expect } of vectors.hadsScored) assert.deepEqual(scoreHads(items), withBands(expect))
    for (const { optionIndex, scored, expect } of vectors.hadsOptionIndex) {
      assert.deepEqual(hadsAnswersFromOptions(optionIndex), scored)
      assert.deepEqual(scoreHads(scored), withBands(expect))
    }
  })

  it('replaces missing answers by the mean if at least four of seven exist', () => {
    const anxietyOf = (...items: Items) => scoreHads(items.flatMap((item) => [item, null])).anxiety
    assert.deepEqual(anxietyOf(3, 3, 3, null, null, null, null), { score: null, band: null, missing: 4 })
    assert.deepEqual(anxietyOf(1, 1, 1, 1, null, null, null), { score: 7, band: 'normal', missing: 3 })
    // 7.5 is more than 7, although printed tables have integers only.
    assert.equal(anxietyOf(1, 1, 1, 1, 1, 1.42857142857, null).band, 'borderline')
    assert.deepEqual(anxietyOf(2, 1, 1, 1, 1, 1, null), { score: 8.17, band: 'borderline', missing: 1 })
  })

  it('lies between 0 and 21, with a band for every score', () => {
    fc.assert(
      fc.property(answers, (items) => {
        for (const { score, band, missing } of Object.values(scoreHads(items))) {
          assert.equal(score === null, missing > 3)
          assert.equal(band === null, score === null)
          assert.ok(score === null || (score >= 0 && score <= 21))
        }
      }),
    )
  })

  it('ignores the order within a subscale, and keeps the subscales independent', () => {
    const order = fc.shuffledSubarray([0, 1, 2, 3, 4, 5, 6], { minLength: 7 })
    fc.assert(
      fc.property(answers, order, full, (items, places, otherPlaces) => {
        const shuffled = items.map((item, i) =>
          i % 2 === 0 ? items[(places[i / 2] ?? 0) * 2] : item,
        ) as Items
        assert.deepEqual(scoreHads(shuffled), scoreHads(items))
        const other = items.map((item, i) =>
          numbered('depression')(item, i) ? (otherPlaces[i] ?? null) : item,
        )
        assert.deepEqual(scoreHads(other).anxiety, scoreHads(items).anxiety)
      }),
    )
  })

  it('gives 21 minus the score for reversed answers; reversing twice changes nothing', () => {
    fc.assert(
      fc.property(full, (items) => {
        const turned = scoreHads(items.map((item) => 3 - item))
        assert.equal(turned.anxiety.score, 21 - (scoreHads(items).anxiety.score ?? 0))
        assert.equal(turned.depression.score, 21 - (scoreHads(items).depression.score ?? 0))
        assert.deepEqual(hadsAnswersFromOptions(hadsAnswersFromOptions(items)), items)
      }),
    )
  })
})

import assert from 'node:assert/strict'
import fc from 'fast-check'
import { hads, hadsAnswers } from '../../../records/measurements/calculations/scores/hads.ts'
import { corpus } from '../../harness/corpus.ts'

type Items = (number | null)[]
type Subscale = { score: number | null; missing: number; band?: string }
type Expected = { anxiety: Subscale; depression: Subscale }

interface Vectors {
  hadsScored: { items: Items; expect: Expected }[]
  hadsOptionIndex: { optionIndex: number[]; scored: number[]; expect: Expected }[]
}

const answer = fc.integer({ min: 0, max: 3 })
const full = fc.array(answer, { minLength: 14, maxLength: 14 })
const some = fc.array(fc.option(answer), { minLength: 14, maxLength: 14 })
const numbered = (subscale: 'anxiety' | 'depression') => (_: unknown, i: number) =>
  i % 2 === (subscale === 'anxiety' ? 0 : 1)

describe('hads', () => {
  it('scores the vectors', function () {
    const vectors = corpus<Vectors>(this, 'vectors/scoring-vectors.json')
    const withBands = ({ anxiety, depression }: Expected) => ({
      anxiety: { band: null, ...anxiety },
      depression: { band: null, ...depression },
    })
    for (const { items, expect } of vectors.hadsScored) assert.deepEqual(hads(items), withBands(expect))
    for (const { optionIndex, scored, expect } of vectors.hadsOptionIndex) {
      assert.deepEqual(hadsAnswers(optionIndex), scored)
      assert.deepEqual(hads(scored), withBands(expect))
    }
  })

  it('takes the mean for what is missing, as long as four of seven are there', () => {
    const anxietyOf = (...items: Items) => hads(items.flatMap((item) => [item, null])).anxiety
    assert.deepEqual(anxietyOf(3, 3, 3, null, null, null, null), { score: null, band: null, missing: 4 })
    assert.deepEqual(anxietyOf(1, 1, 1, 1, null, null, null), { score: 7, band: 'normal', missing: 3 })
    // 7.5 is more than 7, though a printed table knows whole numbers only.
    assert.equal(anxietyOf(1, 1, 1, 1, 1, 1.42857142857, null).band, 'borderline')
    assert.deepEqual(anxietyOf(2, 1, 1, 1, 1, 1, null), { score: 8.17, band: 'borderline', missing: 1 })
  })

  it('stays between 0 and 21, and knows a band for every score', () => {
    fc.assert(
      fc.property(some, (items) => {
        for (const { score, band, missing } of Object.values(hads(items))) {
          assert.equal(score === null, missing > 3)
          assert.equal(band === null, score === null)
          assert.ok(score === null || (score >= 0 && score <= 21))
        }
      }),
    )
  })

  it('does not depend on the order within a subscale, nor one subscale on the other', () => {
    const order = fc.shuffledSubarray([0, 1, 2, 3, 4, 5, 6], { minLength: 7 })
    fc.assert(
      fc.property(some, order, full, (items, places, others) => {
        const shuffled = items.map((item, i) =>
          i % 2 === 0 ? items[(places[i / 2] ?? 0) * 2] : item,
        ) as Items
        assert.deepEqual(hads(shuffled), hads(items))
        const other = items.map((item, i) => (numbered('depression')(item, i) ? (others[i] ?? null) : item))
        assert.deepEqual(hads(other).anxiety, hads(items).anxiety)
      }),
    )
  })

  it('turned round, is what is left of 21; options turned round twice are as they were', () => {
    fc.assert(
      fc.property(full, (items) => {
        const turned = hads(items.map((item) => 3 - item))
        assert.equal(turned.anxiety.score, 21 - (hads(items).anxiety.score ?? 0))
        assert.equal(turned.depression.score, 21 - (hads(items).depression.score ?? 0))
        assert.deepEqual(hadsAnswers(hadsAnswers(items)), items)
      }),
    )
  })
})

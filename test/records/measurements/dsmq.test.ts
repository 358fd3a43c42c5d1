import assert from 'node:assert/strict'
import fc from 'fast-check'
import { DSMQ_SCALES, scoreDsmq } from '../../../records/measurements/calculations/scores/dsmq-score.ts'
import { readCorpusFile } from '../../harness/corpus.ts'

type Items = (number | 'NR' | null)[]

interface Vectors {
  dsmq: { items: Items; expect: Record<string, { raw: number; max: number; score: number } | null> }[]
}

const REVERSED = [5, 7, 10, 11, 12, 13, 14, 15, 16]
const answer = fc.integer({ min: 0, max: 3 })
const full = fc.array(answer, { minLength: 16, maxLength: 16 })
const answers = fc.array(fc.oneof(answer, fc.constantFrom('NR' as const, null)), {
  minLength: 16,
  maxLength: 16,
})
const turned = (items: Items): Items => items.map((item) => (typeof item === 'number' ? 3 - item : item))

describe('dsmq', () => {
  it('scores the vectors', function () {
    for (const { items, expect } of readCorpusFile<Vectors>(this, 'vectors/scoring-vectors.json').dsmq) {
      const scales = scoreDsmq(items)
      assert.deepEqual(Object.keys(scales), Object.keys(expect))
      for (const [name, scale] of Object.entries(scales)) {
        const { answered, ...rest } = scale ?? { answered: 0 }
        assert.deepEqual(scale && rest, expect[name], name)
        if (scale) assert.equal(answered * 3, scale.max)
      }
    }
  })

  it('has no score if more than half of the answers are missing', () => {
    const nothing = { GM: null, DC: null, PA: null, HU: null, SS: null }
    assert.deepEqual(scoreDsmq(Array(16).fill('NR')), nothing)
    assert.deepEqual(scoreDsmq(Array(16).fill(null)), nothing)
    const half: Items = Array.from({ length: 16 }, (_, i) => (i < 8 ? 3 : null))
    const { SS, DC, PA, GM } = scoreDsmq(half)
    assert.deepEqual([SS?.answered, DC?.answered, PA, GM?.answered], [8, 2, null, 3])
  })

  it('lies between 0 and 10 with any answers missing', () => {
    fc.assert(
      fc.property(answers, (items) => {
        for (const [name, scale] of Object.entries(scoreDsmq(items))) {
          const members: readonly number[] = DSMQ_SCALES[name as keyof typeof DSMQ_SCALES]
          const answerCount = members.filter((item) => typeof items[item - 1] === 'number').length
          assert.equal(scale === null, answerCount < members.length / 2)
          if (scale) assert.ok(scale.score >= 0 && scale.score <= 10 && scale.raw <= scale.max)
        }
      }),
    )
  })

  it('treats "not required" like no answer, and items of one direction alike', () => {
    const order = (items: number[]) => fc.shuffledSubarray(items, { minLength: items.length })
    const positive = DSMQ_SCALES.SS.filter((item) => !REVERSED.includes(item))
    fc.assert(
      fc.property(answers, order([...positive]), order(REVERSED), (items, ups, downs) => {
        const asNull = items.map((item) => (item === 'NR' ? null : item))
        assert.deepEqual(scoreDsmq(asNull), scoreDsmq(items))
        const shuffled = [...items]
        for (const [from, to] of [
          [positive, ups],
          [REVERSED, downs],
        ] as const)
          for (const [i, item] of from.entries()) shuffled[item - 1] = items[(to[i] ?? 1) - 1] ?? null
        assert.deepEqual(scoreDsmq(shuffled).SS, scoreDsmq(items).SS)
      }),
    )
  })

  it('gives the maximum minus the score for reversed answers', () => {
    fc.assert(
      fc.property(full, (items) => {
        const one = scoreDsmq(items)
        const other = scoreDsmq(turned(items))
        for (const name of ['GM', 'DC', 'PA', 'HU', 'SS'] as const)
          assert.equal((one[name]?.raw ?? 0) + (other[name]?.raw ?? 0), one[name]?.max)
      }),
    )
  })
})

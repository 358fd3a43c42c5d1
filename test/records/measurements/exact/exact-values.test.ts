import assert from 'node:assert/strict'
import { classifyBloodPressure } from '../../../../records/measurements/calculations/blood-pressure-condition.ts'
import { pressurePresets } from '../../../../records/measurements/calculations/blood-pressure-thresholds.ts'
import { calculateBmi, whoAdultPreset } from '../../../../records/measurements/calculations/bmi.ts'
import { compareAcqMeans, scoreAcq } from '../../../../records/measurements/calculations/scores/acq-score.ts'
import { scoreDsmq } from '../../../../records/measurements/calculations/scores/dsmq-score.ts'
import { scoreHads } from '../../../../records/measurements/calculations/scores/hads-score.ts'
import { BodyMassIndex } from '../../../../records/measurements/kinds/body-mass-index.ts'
import { BodyTemperature } from '../../../../records/measurements/kinds/body-temperature.ts'
import { Fraction } from '../../../../schemas/fraction.ts'
import type { PressurePresetName } from '../../../../schemas/measurements/blood-pressure-condition.ts'
import { roundTo } from '../../../../schemas/measurements/units.ts'
import type { Random } from '../../../fuzz/generator/context/random.ts'
import {
  checkCases,
  compare,
  type Decimal,
  decimalNear,
  fromOwn,
  minus,
  nearOneOf,
  over,
  plus,
  type Ratio,
  ratio,
  rounded,
  times,
  toOwn,
} from './ratio.ts'

const isFrom = (value: Ratio, bound: number | string) => compare(value, ratio(bound)) >= 0

/** The categories of the WHO by their lower bounds. */
const BMI_BOUNDS = whoAdultPreset.bands.map(({ code, bmi }) => ({ code, from: bmi?.gte ?? 0 }))

const MASS_UNITS = ['kg', 'g', '[lb_av]'] as const
const LENGTH_UNITS = ['m', 'cm', '[in_i]', '[ft_i]'] as const

interface Body {
  weight: Decimal
  weightUnit: string
  height: Decimal
  heightUnit: string
}

/** A height, and a weight that gives a BMI on a bound or beside it. */
function weightAndHeight(random: Random): Body {
  const weightUnit = random.pick(MASS_UNITS)
  const heightUnit = random.pick(LENGTH_UNITS)
  const centimetres: Ratio = [BigInt(random.int(500, 2500)), 10n]
  const height = decimalNear(fromOwn(centimetres, heightUnit), random.int(1, 4))
  const ownValue = toOwn(height.value, heightUnit)
  const weights = BMI_BOUNDS.slice(1).map(({ from }) =>
    fromOwn(over(times(ratio(from), times(ownValue, ownValue)), ratio(10_000)), weightUnit),
  )
  const weight = nearOneOf(random, weights, 300)
  return { weight: weight.value[0] > 0n ? weight : decimalNear(ratio(1), 0), weightUnit, height, heightUnit }
}

/** Answers to the items of a questionnaire, some of them missing. */
const answersOf = (random: Random, length: number, max: number) =>
  Array.from({ length }, () => (random.chance(0.15) ? null : random.int(0, max)))

const sumOf = (items: readonly (number | null)[]) => items.reduce<number>((sum, item) => sum + (item ?? 0), 0)

describe('exact calculations', function suite() {
  this.timeout(60_000)

  it('give the BMI and its category, in the function and in records', () => {
    const expectBmi = ({ weight, weightUnit, height, heightUnit }: Body) => {
      const metres = over(toOwn(height.value, heightUnit), ratio(100))
      const bmi = over(toOwn(weight.value, weightUnit), times(metres, metres))
      const category = BMI_BOUNDS.findLast(({ from }) => isFrom(bmi, from))?.code
      const params = { weight: weight.number, weightUnit, height: height.number, heightUnit }
      const expected = [rounded(bmi, 1), category]
      const result = calculateBmi(params)
      assert.deepEqual([result.bmi, result.category], expected, JSON.stringify(params))
      const stored = BodyMassIndex.rules.derived?.(params)
      assert.deepEqual([stored?.bmi, stored?.category], expected, JSON.stringify(params))
    }
    checkCases((random) => expectBmi(weightAndHeight(random)))
    // All bounds in whole centimetres, and the grams beside them.
    for (const { from } of BMI_BOUNDS.slice(1))
      for (let cm = 100n; cm <= 230n; cm++) {
        const [a, b] = times(ratio(from), [cm * cm, 10n])
        for (const gram of [a / b - 1n, a / b, a / b + 1n])
          expectBmi({
            weight: { number: Number(`${gram}e-3`), value: [gram, 1000n] },
            weightUnit: 'kg',
            height: { number: Number(cm), value: [cm, 1n] },
            heightUnit: 'cm',
          })
      }
  })

  for (const thresholds of Object.keys(pressurePresets) as PressurePresetName[])
    it(`classify a blood pressure by ${thresholds} before they round it`, () => {
      const { bands } = pressurePresets[thresholds]
      const boundsOf = (name: 'systolic' | 'diastolic') =>
        bands.flatMap((band) => Object.values(band[name] ?? {}).filter(Number.isFinite)).map(ratio)
      checkCases((random) => {
        const unit = random.pick(['mm[Hg]', 'kPa'])
        const pickValue = (name: 'systolic' | 'diastolic', max: number) =>
          nearOneOf(
            random,
            boundsOf(name).map((bound) => fromOwn(bound, unit)),
            max,
          )
        const systolic = pickValue('systolic', 30)
        const diastolic = pickValue('diastolic', 15)
        const ownValue = { systolic: toOwn(systolic.value, unit), diastolic: toOwn(diastolic.value, unit) }
        const isIn = (name: keyof typeof ownValue, { gt, gte }: { gt?: number; gte?: number }) =>
          gte === undefined
            ? gt === undefined || !Number.isFinite(gt) || compare(ownValue[name], ratio(gt)) > 0
            : isFrom(ownValue[name], gte)
        const matching = bands.filter((band) => {
          const results = (['systolic', 'diastolic'] as const).flatMap((name) =>
            band[name] ? [isIn(name, band[name])] : [],
          )
          return band.combine === 'any' ? results.includes(true) : !results.includes(false)
        })
        const params = { systolic: systolic.number, diastolic: diastolic.number, unit, thresholds }
        const { condition, normalised } = classifyBloodPressure(params)
        const [worst] = matching.toSorted((a, b) => b.severity - a.severity)
        assert.deepEqual(
          [condition, normalised.systolic, normalised.diastolic],
          [worst?.code, rounded(ownValue.systolic, 2), rounded(ownValue.diastolic, 2)],
          JSON.stringify(params),
        )
      })
    })

  it('give the band of a temperature', () => {
    const bounds: [code: string, from: string][] = [
      ['low', '0'],
      ['normal', '35'],
      ['elevated', '37.5'],
      ['fever', '38'],
      ['very-high', '41'],
    ]
    checkCases((random) => {
      const unit = random.pick(['Cel', '[degF]', 'K'])
      const inUnit = bounds.map(([, from]) => fromOwn(ratio(from), unit))
      const decimal = nearOneOf(random, inUnit, unit === 'Cel' ? 46 : 320)
      const celsius = toOwn(decimal.value, unit)
      const expected = bounds.findLast(([, from]) => isFrom(celsius, from))?.[0] ?? 'low'
      const values = { temperature: decimal.number, temperatureUnit: unit }
      const { band, temperatureCel } = BodyTemperature.rules.derived?.(values) ?? {}
      assert.deepEqual([band, temperatureCel], [expected, rounded(celsius, 4)], JSON.stringify(values))
    })
  })

  it('give the scores of HADS and their bands', () => {
    checkCases((random) => {
      const items = answersOf(random, 14, 3)
      const hadsScore = scoreHads(items)
      for (const [i, name] of (['anxiety', 'depression'] as const).entries()) {
        const scoredItems = items.filter((item, at) => at % 2 === i && item !== null)
        if (scoredItems.length < 4) {
          assert.equal(hadsScore[name].score, null)
          continue
        }
        const score: Ratio = [BigInt(7 * sumOf(scoredItems)), BigInt(scoredItems.length)]
        const isAbove = (bound: number) => compare(score, ratio(bound)) > 0
        const band = isAbove(10) ? 'abnormal' : isAbove(7) ? 'borderline' : 'normal'
        assert.deepEqual(
          [hadsScore[name].score, hadsScore[name].band],
          [rounded(score, 2), band],
          String(items),
        )
      }
    })
  })

  it('give the scores of DSMQ', () => {
    const reversed = [5, 7, 10, 11, 12, 13, 14, 15, 16]
    const scales: Record<string, number[]> = {
      GM: [1, 4, 6, 10, 12],
      DC: [2, 5, 9, 13],
      PA: [8, 11, 15],
      HU: [3, 7, 14],
      SS: Array.from({ length: 16 }, (_, i) => i + 1),
    }
    checkCases((random) => {
      const items = answersOf(random, 16, 3)
      const dsmqScales = scoreDsmq(items) as Record<string, { score: number } | null>
      for (const [name, members] of Object.entries(scales)) {
        const points = members.flatMap((item) => {
          const answer = items[item - 1] ?? null
          return answer === null ? [] : [reversed.includes(item) ? 3 - answer : answer]
        })
        const expected =
          2 * points.length < members.length
            ? undefined
            : rounded([BigInt(10 * sumOf(points)), BigInt(3 * points.length)], 2)
        assert.equal(dsmqScales[name]?.score, expected, `${name} of ${items}`)
      }
    })
  })

  it('give the score of ACQ, its level of control and the importance of a change', () => {
    checkCases((random) => {
      const version = random.pick([5, 6, 7] as const)
      const [answers, before] = [0, 1].map(() => Array.from({ length: version }, () => random.int(0, 6))) as [
        number[],
        number[],
      ]
      const age = random.pick([undefined, 5, 6, 17, 18, 40])
      const isChild = age !== undefined && age >= 6 && age < 18
      const [score, former] = [answers, before].map(
        (items): Ratio => [BigInt(sumOf(items)), BigInt(version)],
      ) as [Ratio, Ratio]
      const control =
        compare(score, ratio('0.75')) <= 0
          ? 'well-controlled'
          : isFrom(score, isChild ? '1.25' : '1.5')
            ? 'not-well-controlled'
            : 'borderline'
      const acqScore = scoreAcq({ version, answers, ...(age !== undefined && { age }) })
      assert.deepEqual([acqScore.score, acqScore.control], [rounded(score, 2), control], String(answers))
      const limit = ratio(isChild ? '0.4' : '0.5')
      const change = minus(score, former)
      const important = compare(change, limit) >= 0 || compare(plus(change, limit), ratio(0)) <= 0
      const means = [former, score].map(([sum, items]) => Fraction.of(Number(sum)).dividedBy(Number(items)))
      const comparison = compareAcqMeans(means[0] as Fraction, means[1] as Fraction, age)
      assert.deepEqual(comparison, { delta: rounded(change, 2), important }, `${before} ${answers}`)
    })
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
    checkCases((random) => {
      const digits = random.int(-1e9, 1e9)
      const decimals = random.int(0, 6)
      const to = random.int(0, 6)
      const value = Number(`${digits}e-${decimals}`)
      assert.equal(roundTo(value, to), rounded([BigInt(digits), 10n ** BigInt(decimals)], to), String(value))
    })
  })
})

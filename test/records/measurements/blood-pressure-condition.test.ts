import assert from 'node:assert/strict'
import fc from 'fast-check'
import {
  classifyBloodPressure,
  conditionViolations,
} from '../../../records/measurements/calculations/blood-pressure-condition.ts'
import type { BloodPressureConditionParams } from '../../../schemas/measurements/blood-pressure-condition.ts'
import { readCorpusFile } from '../../harness/corpus.ts'

interface Vectors {
  bp: ({ systolic: number; diastolic: number; isolatedSystolic: boolean } & Record<
    (typeof PRESETS)[number],
    string
  >)[]
}

type Thresholds = BloodPressureConditionParams['thresholds']
const PRESETS = ['aha2017', 'esc2018', 'esc2024'] as const

const conditionOf = (systolic: number, diastolic: number, thresholds: Thresholds, unit = 'mmHg') =>
  classifyBloodPressure({ systolic, diastolic, unit, thresholds })
const paths = (thresholds: unknown) =>
  conditionViolations({
    systolic: 120,
    diastolic: 80,
    unit: 'mmHg',
    thresholds: thresholds as Thresholds,
  }).map(({ path }) => path)

describe('bloodPressureCondition', () => {
  it('classifies the vectors', function () {
    for (const vector of readCorpusFile<Vectors>(this, 'vectors/scoring-vectors.json').bp) {
      const { systolic, diastolic } = vector
      for (const name of PRESETS)
        assert.equal(
          conditionOf(systolic, diastolic, name).condition,
          vector[name],
          `${systolic}/${diastolic} ${name}`,
        )
      assert.equal(conditionOf(systolic, diastolic, 'esc2018').isolatedSystolic, vector.isolatedSystolic)
    }
  })

  it('returns the condition, its severity and the pressures in mmHg', () => {
    assert.deepEqual(conditionOf(20, 10, 'aha2017', 'kPa'), {
      condition: 'stage2',
      label: 'Hypertension stage 2',
      severity: 3,
      isolatedSystolic: true,
      thresholdSet: 'aha2017',
      normalised: { systolic: 150.01, diastolic: 75.01, unit: 'mm[Hg]' },
    })
  })

  it('calls a pressure isolated systolic from 140 and below 90 mmHg', () => {
    const pressures = [
      [139, 89],
      [140, 89],
      [140, 90],
    ] as const
    assert.deepEqual(
      pressures.map(([high, low]) => conditionOf(high, low, 'esc2018').isolatedSystolic),
      [false, true, false],
    )
  })

  it('calls a crisis of aha2017 only what lies above 180 or 120 mmHg', () => {
    const pressures = [
      [180, 120],
      [181, 120],
      [180, 121],
    ] as const
    assert.deepEqual(
      pressures.map(([high, low]) => conditionOf(high, low, 'aha2017').condition),
      ['stage2', 'crisis', 'crisis'],
    )
  })

  it("uses a person's own limits; a value on a limit is normal, and high outweighs low", () => {
    const limits = {
      systolicLow: 100,
      systolicHigh: 135,
      diastolicLow: 60,
      diastolicHigh: 85,
      unit: 'mm[Hg]',
    }
    assert.deepEqual(
      [conditionOf(135, 60, limits), conditionOf(99, 70, limits), conditionOf(99, 86, limits)].map(
        ({ condition }) => condition,
      ),
      ['normal', 'low', 'high'],
    )
    assert.equal(conditionOf(200, 100, { diastolicLow: 50, unit: 'mmHg' }).condition, 'normal')
    assert.equal(conditionOf(140, 80, { systolicHigh: 18, unit: 'kPa' }).condition, 'high')
  })

  it("tries a caller's own bands from the highest severity down", () => {
    const bands = [
      { code: 'a', label: 'A', severity: 1, combine: 'any' as const, systolic: { gte: 100 } },
      {
        code: 'b',
        label: 'B',
        severity: 2,
        combine: 'all' as const,
        systolic: { gte: 130 },
        diastolic: { lt: 80 },
      },
    ]
    const set = { name: 'mine', unit: 'mm[Hg]', bands }
    assert.equal(conditionOf(135, 70, set).condition, 'b')
    assert.equal(conditionOf(135, 85, set).condition, 'a')
    const none = conditionOf(90, 60, set)
    assert.deepEqual([none.condition, none.severity, none.thresholdSet], ['unclassified', null, 'mine'])
  })

  it('refuses thresholds that contradict each other', () => {
    const band = { code: 'a', label: 'A', severity: 1, combine: 'any', systolic: { gte: 100 } }
    const set = (...bands: object[]) => ({ name: 'x', unit: 'mmHg', bands })
    assert.deepEqual(paths('who1999'), ['thresholds'])
    assert.deepEqual(paths(5), ['thresholds'])
    assert.deepEqual(paths([]), ['thresholds'])
    assert.deepEqual(paths({ unit: 'mmHg' }), ['thresholds'])
    assert.deepEqual(paths({ unit: 'mmHg', systolicLow: 140, systolicHigh: 90 }), ['thresholds.systolicHigh'])
    assert.deepEqual(paths({ unit: 'mmHg', systolicLow: 90, systolicHigh: 90 }), ['thresholds.systolicHigh'])
    assert.deepEqual(paths({ unit: 'mmHg', systolicLow: 301 }), ['thresholds.systolicLow'])
    assert.deepEqual(paths({ unit: 'psi', systolicLow: 90 }), ['thresholds.unit'])
    assert.deepEqual(paths(set()), ['thresholds.bands'])
    assert.deepEqual(paths(set(band, { ...band, code: 'b' })), ['thresholds.bands.1.severity'])
    assert.deepEqual(paths(set({ ...band, systolic: { gt: 100, lte: 100 } })), [
      'thresholds.bands.0.systolic',
    ])
    assert.deepEqual(paths(set({ code: 'a', label: 'A', severity: 1, combine: 'all' })), [
      'thresholds.bands.0',
    ])
    assert.deepEqual(paths(set({ ...band, systolic: { gte: 100, lte: 100 } })), [], 'a band of one value')
  })

  it('has a condition for every pressure, worse for higher ones', () => {
    const pressure = fc.integer({ min: 20, max: 300 })
    fc.assert(
      fc.property(
        fc.constantFrom(...PRESETS),
        pressure,
        pressure,
        pressure,
        (name, systolic, diastolic, more) => {
          const { condition, severity } = conditionOf(systolic, diastolic, name)
          assert.notEqual(condition, 'unclassified')
          assert.ok((conditionOf(systolic + more, diastolic, name).severity ?? -1) >= (severity ?? 0))
          assert.ok((conditionOf(systolic, diastolic + more, name).severity ?? -1) >= (severity ?? 0))
        },
      ),
    )
  })

  it('never throws, whatever the thresholds', () => {
    fc.assert(
      fc.property(fc.anything(), (thresholds) => thresholds === null || paths(thresholds).length >= 0),
    )
  })
})

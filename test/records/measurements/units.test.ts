import assert from 'node:assert/strict'
import fc from 'fast-check'
import { temperature } from '../../../records/measurements/kinds/body-temperature.ts'
import { diastolic, height, systolic, weight } from '../../../records/measurements/quantities/quantities.ts'
import { quantityViolations } from '../../../records/measurements/quantities/quantity.ts'
import {
  convertUnit,
  isUnitOf,
  omhUnitOf,
  roundKeepingDigits,
  unitNames,
} from '../../../schemas/measurements/units.ts'
import { readCorpusFile } from '../../harness/corpus.ts'

interface Vectors {
  units: { from: string; value: number; to: string; expect: number }[]
}

const KINDS = [
  ...(['pressure', 'temperature', 'mass', 'length'] as const),
  ...(['bodyMassIndex', 'frequency', 'fraction', 'glucose'] as const),
]
const unitPair = fc
  .constantFrom(...KINDS)
  .chain((kind) => fc.tuple(fc.constantFrom(...unitNames(kind)), fc.constantFrom(...unitNames(kind))))

describe('units', () => {
  it('are converted as in the vectors', function () {
    for (const { from, value, to, expect } of readCorpusFile<Vectors>(this, 'vectors/scoring-vectors.json')
      .units)
      assert.ok(Math.abs(convertUnit(value, from, to) - expect) < 0.006, `${value} ${from} -> ${to}`)
  })

  it('have the names of Open mHealth', () => {
    const names = ['Cel', '°F', 'K', 'mm[Hg]', 'kPa', 'lbs', '/min'].map(omhUnitOf)
    assert.deepEqual(names, ['C', 'F', 'K', 'mmHg', undefined, 'lb', 'beats/min'])
  })

  it('are converted at known points', () => {
    assert.ok(Math.abs(convertUnit(37, 'Cel', '[degF]') - 98.6) < 1e-9)
    assert.ok(Math.abs(convertUnit(0, 'Cel', 'K') - 273.15) < 1e-9)
    assert.equal(convertUnit(1, 'ft', 'cm').toFixed(2), '30.48')
    assert.equal(convertUnit(120, 'mmHg', 'mm[Hg]'), 120)
  })

  it('are converted back to the same value', () => {
    fc.assert(
      fc.property(unitPair, fc.double({ min: -1e6, max: 1e6, noNaN: true }), ([from, to], value) => {
        const back = convertUnit(convertUnit(value, from, to), to, from)
        assert.ok(Math.abs(back - value) <= 1e-9 * Math.max(1000, Math.abs(value)))
      }),
    )
  })

  it('are converted back to the last digit that was sent', () => {
    const digits = fc.tuple(fc.integer({ min: 1, max: 999_999 }), fc.integer({ min: 0, max: 4 }))
    fc.assert(
      fc.property(unitPair, digits, ([from, to], [number, decimals]) => {
        const value = number / 10 ** decimals
        const back = convertUnit(convertUnit(value, from, to), to, from)
        assert.equal(back.toFixed(decimals), value.toFixed(decimals))
      }),
    )
  })

  it('keep the order of values', () => {
    const number = fc.integer({ min: -1_000_000, max: 1_000_000 })
    fc.assert(
      fc.property(unitPair, number, number, ([from, to], a, b) => {
        assert.equal(convertUnit(a, from, to) < convertUnit(b, from, to), a < b)
      }),
    )
  })

  it('keep the digits of small values', () => {
    const values = [0.00012345, 0.012345, 1.2345, 123.45, 0, -0.00012345]
    assert.deepEqual(
      values.map((value) => roundKeepingDigits(value, 2)),
      [0.00012, 0.012, 1.23, 123.45, 0, -0.00012],
    )
  })

  it('are refused if unknown or of another kind', () => {
    assert.throws(() => convertUnit(1, 'kg', 'cm'), RangeError)
    assert.throws(() => convertUnit(1, 'stone', 'kg'), RangeError)
    assert.equal(isUnitOf('temperature', 'constructor'), false)
  })
})

describe('ranges', () => {
  const quantities = { systolic, diastolic, weight, height, temperature }
  const paths = (name: keyof typeof quantities, value: unknown, unit: unknown, property?: string) =>
    quantityViolations(quantities[name], name, value, unit, property).map(
      ({ path, code }) => `${path} ${code}`,
    )

  it('are checked after conversion', () => {
    assert.deepEqual(paths('systolic', 16, 'kPa'), [])
    assert.deepEqual(paths('systolic', 16, 'mmHg'), ['systolic range'])
    assert.deepEqual(paths('temperature', 98.6, '[degF]'), [])
    assert.deepEqual(paths('temperature', 98.6, 'Cel'), ['temperature range'])
    assert.deepEqual(paths('height', 1.75, 'm'), [])
    assert.deepEqual(paths('height', 1.75, 'cm'), ['height range'])
  })

  it('include their bounds', () => {
    for (const bound of [40, 300]) {
      assert.deepEqual(paths('systolic', bound, 'mm[Hg]'), [])
      assert.deepEqual(paths('systolic', convertUnit(bound, 'mm[Hg]', 'kPa'), 'kPa'), [])
    }
    assert.deepEqual(paths('systolic', 39.9, 'mm[Hg]'), ['systolic range'])
    assert.deepEqual(paths('systolic', 300.1, 'mm[Hg]'), ['systolic range'])
  })

  it('include their bounds in every unit, although a conversion rounds them', () => {
    for (const [name, { kind, unit, hard }] of Object.entries({ height, weight, temperature }))
      for (const other of unitNames(kind))
        for (const bound of hard)
          assert.deepEqual(paths(name as 'height', convertUnit(bound, unit, other), other), [], other)
  })

  it('name the property with the wrong unit', () => {
    assert.deepEqual(paths('weight', 70, 'cm'), ['weightUnit unit'])
    assert.deepEqual(paths('diastolic', 80, 'bar', 'unit'), ['unit unit'])
  })

  it('never throw', () => {
    fc.assert(
      fc.property(fc.anything(), fc.anything(), (value, unit) => paths('weight', value, unit).length < 2),
    )
  })
})

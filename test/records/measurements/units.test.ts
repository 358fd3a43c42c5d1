import assert from 'node:assert/strict'
import fc from 'fast-check'
import { temperature } from '../../../records/measurements/kinds/body-temperature.ts'
import { diastolic, height, systolic, weight } from '../../../records/measurements/quantities/quantities.ts'
import { quantityViolations } from '../../../records/measurements/quantities/quantity.ts'
import { convert, isUnitOf, unitNames } from '../../../records/measurements/quantities/units.ts'
import { corpus } from '../../harness/corpus.ts'

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
  it('converts as the vectors say', function () {
    for (const { from, value, to, expect } of corpus<Vectors>(this, 'vectors/scoring-vectors.json').units)
      assert.ok(Math.abs(convert(value, from, to) - expect) < 0.006, `${value} ${from} -> ${to}`)
  })

  it('converts known points', () => {
    assert.ok(Math.abs(convert(37, 'Cel', '[degF]') - 98.6) < 1e-9)
    assert.ok(Math.abs(convert(0, 'Cel', 'K') - 273.15) < 1e-9)
    assert.equal(convert(1, 'ft', 'cm').toFixed(2), '30.48')
    assert.equal(convert(120, 'mmHg', 'mm[Hg]'), 120)
  })

  it('comes back to the same value', () => {
    fc.assert(
      fc.property(unitPair, fc.double({ min: -1e6, max: 1e6, noNaN: true }), ([from, to], value) => {
        const back = convert(convert(value, from, to), to, from)
        assert.ok(Math.abs(back - value) <= 1e-9 * Math.max(1000, Math.abs(value)))
      }),
    )
  })

  it('comes back to the last digit that was sent', () => {
    const digits = fc.tuple(fc.integer({ min: 1, max: 999_999 }), fc.integer({ min: 0, max: 4 }))
    fc.assert(
      fc.property(unitPair, digits, ([from, to], [number, decimals]) => {
        const value = number / 10 ** decimals
        const back = convert(convert(value, from, to), to, from)
        assert.equal(back.toFixed(decimals), value.toFixed(decimals))
      }),
    )
  })

  it('keeps the order of values', () => {
    const number = fc.integer({ min: -1_000_000, max: 1_000_000 })
    fc.assert(
      fc.property(unitPair, number, number, ([from, to], a, b) => {
        assert.equal(convert(a, from, to) < convert(b, from, to), a < b)
      }),
    )
  })

  it('refuses units that are unknown or of another kind', () => {
    assert.throws(() => convert(1, 'kg', 'cm'), RangeError)
    assert.throws(() => convert(1, 'stone', 'kg'), RangeError)
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
      assert.deepEqual(paths('systolic', convert(bound, 'mm[Hg]', 'kPa'), 'kPa'), [])
    }
    assert.deepEqual(paths('systolic', 39.9, 'mm[Hg]'), ['systolic range'])
    assert.deepEqual(paths('systolic', 300.1, 'mm[Hg]'), ['systolic range'])
  })

  it('name the property whose unit is wrong', () => {
    assert.deepEqual(paths('weight', 70, 'cm'), ['weightUnit unit'])
    assert.deepEqual(paths('diastolic', 80, 'bar', 'unit'), ['unit unit'])
  })

  it('never throw', () => {
    fc.assert(
      fc.property(fc.anything(), fc.anything(), (value, unit) => paths('weight', value, unit).length < 2),
    )
  })
})

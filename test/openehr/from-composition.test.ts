import assert from 'node:assert/strict'
import { measurementView } from '../../openehr/composition-views/measurements/measurement-view.ts'
import {
  fromComposition,
  isMappable,
  MAX_MEASUREMENTS,
  mappableByArchetype,
} from '../../openehr/measurement-mapping/from-composition.ts'
import type { RmObject } from '../../openehr/rm/canonical-json.ts'
import { MEASUREMENT_KINDS } from '../../records/kinds.ts'
import type { MeasurementKind } from '../../records/measurements/measurement.ts'
import { seriesValueOf } from '../../records/measurements/series.ts'
import { createStoredMeasurement, timestamp } from '../harness/care/samples/stored-measurement.ts'

const READABLE = mappableByArchetype(MEASUREMENT_KINDS)
const parents = { ehrId: 'e5RtGb81Xz', compositionId: 'c1' }

/** A weight as in a composition, with a change. */
function weightOf(change: (event: RmObject, quantity: RmObject) => object | undefined): RmObject {
  const weight = [...READABLE.values()].find(({ path }) => path === 'bodyweight') as MeasurementKind
  const composition = measurementView(weight).toComposition(createStoredMeasurement(weight))
  // biome-ignore lint/suspicious/noExplicitAny: the content has no type
  const { data } = (composition as any).content[0]
  const [event] = data.events
  data.events = change(event, event.data.items[0].value) ?? data.events
  return composition
}

const heldIn = (composition: RmObject) => fromComposition(READABLE, composition, parents)

describe('measurements from compositions', () => {
  for (const kind of MEASUREMENT_KINDS)
    it(`are ${isMappable(kind) ? 'read as they were written' : 'without answers'}: ${kind.name}`, () => {
      const stored = createStoredMeasurement(kind)
      const measurements = heldIn(measurementView(kind).toComposition(stored))
      if (!isMappable(kind)) return assert.deepEqual(measurements, [])
      const [{ record, kind: foundKind, id } = assert.fail()] = measurements
      assert.equal(measurements.length, 1)
      assert.match(id, /^[A-Za-z0-9]{10}$/)
      assert.deepEqual([foundKind.name, record.timestamp, record.compositionId], [kind.name, timestamp, 'c1'])
      for (const series of Object.values(kind.series))
        assert.equal(seriesValueOf(series, record), seriesValueOf(series, stored))
    })

  it('have the unit of the composition, and a time zone', () => {
    const [measurement] = heldIn(
      weightOf((event, quantity) => {
        Object.assign(quantity, { magnitude: 160, units: '[lb_av]' })
        event.time = { _type: 'DV_DATE_TIME', value: '2026-03-01T10:30+02:00' }
        return undefined
      }),
    )
    const { weight, weightUnit, weightKg, timestamp: at } = measurement?.record ?? {}
    assert.deepEqual([weight, weightUnit, weightKg, at], [160, '[lb_av]', 72.5748, timestamp])
  })

  const none: [why: string, change: (event: RmObject, quantity: RmObject) => void][] = [
    ['over a period, such as a mean', (event) => Object.assign(event, { _type: 'INTERVAL_EVENT' })],
    ['in an unknown unit', (_, quantity) => Object.assign(quantity, { units: 'stone' })],
    ['that is impossible', (_, quantity) => Object.assign(quantity, { magnitude: 4000 })],
    ['without a number', (_, quantity) => Reflect.deleteProperty(quantity, 'magnitude')],
    ['of a day without a time', (event) => Object.assign(event.time as object, { value: '2026-03-01' })],
    ['of an hour', (event) => Object.assign(event.time as object, { value: '2026-03-01T10' })],
    ['of a month', (event) => Object.assign(event.time as object, { value: '2026-03' })],
    ['in the future', (event) => Object.assign(event.time as object, { value: '2126-03-01T10:30:00Z' })],
  ]
  for (const [why, change] of none)
    it(`are not created from a value ${why}`, () => {
      const composition = weightOf((event, quantity) => {
        change(event, quantity)
        return undefined
      })
      assert.deepEqual(heldIn(composition), [])
    })

  it('are distinguished at the same time, and limited in number', () => {
    const measurements = heldIn(
      weightOf((event) => Array.from({ length: MAX_MEASUREMENTS + 1 }, () => event)),
    )
    assert.equal(new Set(measurements.map(({ id }) => id)).size, MAX_MEASUREMENTS)
  })
})

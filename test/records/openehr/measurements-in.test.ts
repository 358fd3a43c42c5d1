import assert from 'node:assert/strict'
import { MEASUREMENTS } from '../../../records/kinds.ts'
import type { MeasurementKind } from '../../../records/measurements/measurement.ts'
import { valueIn } from '../../../records/measurements/series.ts'
import { compositionOf } from '../../../records/openehr/measured/composition-of.ts'
import {
  isReadable,
  MOST_HELD,
  measurementsIn,
  readableOf,
} from '../../../records/openehr/measured/measurements-in.ts'
import type { RmObject } from '../../../records/openehr/rm/canonical.ts'
import { storedOf, timestamp } from '../../harness/care/samples/stored-measurement.ts'

const READABLE = readableOf(MEASUREMENTS)
const holder = { ehrId: 'e5RtGb81Xz', compositionId: 'c1' }

/** A weight as a composition holds it, changed. */
function weightOf(change: (event: RmObject, quantity: RmObject) => object | undefined): RmObject {
  const weight = [...READABLE.values()].find(({ path }) => path === 'bodyweight') as MeasurementKind
  const composition = compositionOf(weight, storedOf(weight))
  // biome-ignore lint/suspicious/noExplicitAny: what lies inside has no type
  const { data } = (composition as any).content[0]
  const [event] = data.events
  data.events = change(event, event.data.items[0].value) ?? data.events
  return composition
}

const heldIn = (composition: RmObject) => measurementsIn(READABLE, composition, holder)

describe('measurements in compositions', () => {
  for (const kind of MEASUREMENTS)
    it(`${kind.name}: what is written is ${isReadable(kind) ? 'read again' : 'no answers'}`, () => {
      const stored = storedOf(kind)
      const held = heldIn(compositionOf(kind, stored))
      if (!isReadable(kind)) return assert.deepEqual(held, [])
      const [{ record, kind: found, id } = assert.fail()] = held
      assert.equal(held.length, 1)
      assert.match(id, /^[A-Za-z0-9]{10}$/)
      assert.deepEqual([found.name, record.timestamp, record.compositionId], [kind.name, timestamp, 'c1'])
      for (const series of Object.values(kind.series))
        assert.equal(valueIn(series, record), valueIn(series, stored))
    })

  it('have the unit that is told, and a zone', () => {
    const [held] = heldIn(
      weightOf((event, quantity) => {
        Object.assign(quantity, { magnitude: 160, units: '[lb_av]' })
        event.time = { _type: 'DV_DATE_TIME', value: '2026-03-01T10:30+02:00' }
        return undefined
      }),
    )
    const { weight, weightUnit, weightKg, timestamp: at } = held?.record ?? {}
    assert.deepEqual([weight, weightUnit, weightKg, at], [160, '[lb_av]', 72.5748, timestamp])
  })

  const none: [why: string, change: (event: RmObject, quantity: RmObject) => void][] = [
    ['of a time, as a mean is', (event) => Object.assign(event, { _type: 'INTERVAL_EVENT' })],
    ['in a unit that is not known', (_, quantity) => Object.assign(quantity, { units: 'stone' })],
    ['that cannot be', (_, quantity) => Object.assign(quantity, { magnitude: 4000 })],
    ['without a number', (_, quantity) => Reflect.deleteProperty(quantity, 'magnitude')],
    ['of a month', (event) => Object.assign(event.time as object, { value: '2026-03' })],
    ['to come', (event) => Object.assign(event.time as object, { value: '2126-03-01' })],
  ]
  for (const [why, change] of none)
    it(`none is made of a value ${why}`, () => {
      const composition = weightOf((event, quantity) => {
        change(event, quantity)
        return undefined
      })
      assert.deepEqual(heldIn(composition), [])
    })

  it('are told apart when they are of one moment, and are not without end', () => {
    const held = heldIn(weightOf((event) => Array.from({ length: MOST_HELD + 1 }, () => event)))
    assert.equal(new Set(held.map(({ id }) => id)).size, MOST_HELD)
  })
})

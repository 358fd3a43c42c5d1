import assert from 'node:assert/strict'
import { classKinds } from '../../records/kinds.ts'
import {
  byClass,
  createByPath,
  type Json,
  KIND_NAMES,
  kinds,
  newPlace,
  type Place,
  pathOf,
} from '../family-kinds.ts'
import type { Patient } from '../harness/care/patients.ts'
import { assertError, parseDate } from '../harness/clients/class-client.ts'
import { assertStatus } from '../harness/clients/path-client.ts'

/** Each form of ISO 8601 with its time in UTC. */
const FORMS = [
  ['2026-03-01', '2026-03-01T00:00:00.000Z'],
  ['2026-03-01T08:30Z', '2026-03-01T08:30:00.000Z'],
  ['2026-03-01T08:30:15Z', '2026-03-01T08:30:15.000Z'],
  ['2026-03-01T08:30:15.1Z', '2026-03-01T08:30:15.100Z'],
  ['2026-03-01T08:30:15,123456Z', '2026-03-01T08:30:15.123Z'],
  ['2026-03-01T09:30+01:00', '2026-03-01T08:30:00.000Z'],
  ['2026-03-01T09:30:00.000+01', '2026-03-01T08:30:00.000Z'],
  ['2026-02-28T23:00:00-0930', '2026-03-01T08:30:00.000Z'],
] as const

const NO_TIMES = [
  '',
  '2026',
  '2026-02-30',
  '2026-03-01T08:30',
  '2026-03-01T24:30Z',
  '0001-01-01T00:30+01:00',
  '1 March',
]

describe('a time', () => {
  let patient: Patient
  let place: Place
  before(async () => {
    ;({ patient, place } = await newPlace())
  })

  for (const name of KIND_NAMES) {
    const [field] = Object.entries(classKinds[name].create.properties).flatMap(([property, schema]) =>
      (schema as { properties?: { __type?: unknown } }).properties?.__type ? [property] : [],
    )
    if (field === undefined) continue

    it(`has any form of ISO 8601 in the ${name} of the class family`, async () => {
      for (const [sent, utc] of FORMS) {
        const date = { __type: 'Date', iso: sent }
        const object = { ...kinds[name].object(place), [field]: date }
        const answer = await byClass(patient).post(name, object)
        // Conditions may exist only once.
        if (answer.status === 400) assert.notEqual(answer.body.code, 107, JSON.stringify(answer.body))
        else assert.deepEqual(answer.body[field], parseDate(utc), `${sent} ${JSON.stringify(answer.body)}`)
        const listed: { body: Json } = await byClass(patient)
          .list(name, { [field]: date })
          .expect(200)
        for (const found of listed.body.results as Json[])
          assert.deepEqual(found[field], parseDate(utc), sent)
        await byClass(patient)
          .list(name, { [field]: { $gte: date, $lt: date } })
          .expect(200)
      }
      for (const iso of NO_TIMES)
        assertError(
          await byClass(patient).post(name, {
            ...kinds[name].object(place),
            [field]: { __type: 'Date', iso },
          }),
          107,
        )
    })

    if (!('utcOffset' in classKinds[name].fields)) continue

    it(`keeps the offset that it was sent with in the ${name} of both families`, async () => {
      const { body } = await byClass(patient)
        .post(name, {
          ...{ ...kinds[name].object(place), utcOffset: undefined },
          timestamp: { __type: 'Date', iso: '2026-03-02T09:30+05:30' },
        })
        .expect(201)
      assert.deepEqual([body.timestamp, body.utcOffset], [parseDate('2026-03-02T04:00:00.000Z'), '+05:30'])
      const stored = assertStatus(await patient.call('GET', pathOf(name, place, body.objectId)))
      assert.deepEqual([stored.timestamp, stored.utcOffset], ['2026-03-02T04:00:00.000Z', '+05:30'])

      delete kinds[name].body.utcOffset
      kinds[name].body.timestamp = '2026-03-03T09:30:00-08:00'
      const created = await createByPath(patient, name, place)
      assert.deepEqual([created.timestamp, created.utcOffset], ['2026-03-03T17:30:00.000Z', '-08:00'])
      const object = (await byClass(patient).get(name, String(created.id)).expect(200)).body
      assert.equal(object.utcOffset, '-08:00')
      const points = await patient.call('GET', pathOf(name, place, 'omh'))
      if (points.status !== 200) return
      const texts = JSON.stringify(points.body)
      for (const local of ['2026-03-02T09:30:00.000+05:30', '2026-03-03T09:30:00.000-08:00'])
        assert.ok(texts.includes(local), `${local} in ${texts.slice(0, 500)}`)
    })
  }
})

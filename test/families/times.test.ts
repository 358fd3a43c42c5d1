import assert from 'node:assert/strict'
import { classKinds } from '../../records/kinds.ts'
import {
  byClass,
  createByClass,
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
import { createConnectMessage, openRawSocket } from '../harness/clients/live-client.ts'
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
  ['2026-03-01T09+01:00', '2026-03-01T08:00:00.000Z'],
  ['2026-03-01T08:30,5Z', '2026-03-01T08:30:30.000Z'],
  ['2026-03-01T08.5Z', '2026-03-01T08:30:00.000Z'],
  ['2026-03-01T24:00Z', '2026-03-02T00:00:00.000Z'],
  ['20260301', '2026-03-01T00:00:00.000Z'],
  ['20260301T083015Z', '2026-03-01T08:30:15.000Z'],
  ['20260301T0930+0100', '2026-03-01T08:30:00.000Z'],
  ['2026-060', '2026-03-01T00:00:00.000Z'],
  ['2026060T0830Z', '2026-03-01T08:30:00.000Z'],
  ['2026-W09-7', '2026-03-01T00:00:00.000Z'],
  ['2026W097T083000Z', '2026-03-01T08:30:00.000Z'],
] as const

const NO_TIMES = [
  '',
  '2026',
  '2026-02-30',
  '2026-03-01T08:30',
  '2026-03-01T24:30Z',
  '2026-03-01T08:60Z',
  '2026-0301',
  '2026-366',
  '2026-000',
  '2026-W00-1',
  '2026-W54-1',
  '2026-03-01T08:30+25:00',
  '0001-01-01T00:30+01:00',
  '1 March',
]

/** Conditions on a field, of every form that takes a time. */
const CONDITIONS: ((field: string, date: object) => Json)[] = [
  (field, date) => ({ [field]: date }),
  ...['$eq', '$ne', '$lt', '$lte', '$gt', '$gte'].map((operator) => (field: string, date: object) => ({
    [field]: { [operator]: date },
  })),
  ...['$in', '$nin'].map((operator) => (field: string, date: object) => ({
    [field]: { [operator]: [date] },
  })),
  (field, date) => ({ $or: [{ [field]: date }, { $and: [{ [field]: { $gte: date, $lt: date } }] }] }),
]

const dateFieldsIn = (properties: object): string[] =>
  Object.entries(properties).flatMap(([property, schema]) =>
    (schema as { properties?: { __type?: unknown } }).properties?.__type ? [property] : [],
  )

describe('a time', () => {
  let patient: Patient
  let place: Place
  before(async () => {
    ;({ patient, place } = await newPlace())
  })

  for (const name of KIND_NAMES) {
    const { create, update } = classKinds[name]
    const [field, ...others] = dateFieldsIn({ ...create.properties, ...update.properties })
    if (field === undefined) continue

    it(`has any form of ISO 8601 in the ${name} of the class family`, async () => {
      const { post, put, list } = byClass(patient)
      for (const [timeText, utc] of FORMS) {
        const date = { __type: 'Date', iso: timeText }
        const object = { ...kinds[name].object(place), [field]: date }
        const answer = await post(name, object)
        // Conditions may exist only once.
        if (answer.status === 400) assert.notEqual(answer.body.code, 107, JSON.stringify(answer.body))
        else
          assert.deepEqual(answer.body[field], parseDate(utc), `${timeText} ${JSON.stringify(answer.body)}`)
        const findIds = async (where: Json) =>
          (await list(name, where as never).expect(200)).body.results.map(({ objectId }: Json) => objectId)
        const inForm = CONDITIONS[FORMS.findIndex(([form]) => form === timeText) % CONDITIONS.length]
        assert.ok(inForm)
        assert.deepEqual(
          await findIds(inForm(field, date)),
          await findIds(inForm(field, parseDate(utc))),
          `${timeText} ${JSON.stringify(inForm(field, date))}`,
        )
        if (answer.status !== 400)
          assert.ok((await findIds({ [field]: date })).includes(answer.body.objectId))
      }
      const { objectId } = await createByClass(patient, name, place)
      for (const [i, other] of [field, ...others].entries()) {
        const [otherTime, utc] = FORMS[(i + 5) % FORMS.length] ?? []
        const { status, body } = await put(name, String(objectId), {
          [other]: { __type: 'Date', iso: otherTime },
        })
        if (status === 200) assert.deepEqual(body[other], parseDate(utc ?? ''), other)
        else assert.equal(body.code, 142, JSON.stringify(body))
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
          ...kinds[name].object(place),
          utcOffset: undefined,
          timestamp: { __type: 'Date', iso: '2026-03-02T09:30+05:30' },
        })
        .expect(201)
      assert.deepEqual([body.timestamp, body.utcOffset], [parseDate('2026-03-02T04:00:00.000Z'), '+05:30'])
      const stored = assertStatus(await patient.call('GET', pathOf(name, place, body.objectId)))
      assert.deepEqual([stored.timestamp, stored.utcOffset], ['2026-03-02T04:00:00.000Z', '+05:30'])

      // No place has such an offset, but RFC 3339 permits it.
      delete kinds[name].body.utcOffset
      kinds[name].body.timestamp = '2026-03-03T09:30:00-15:30'
      const created = await createByPath(patient, name, place)
      assert.deepEqual([created.timestamp, created.utcOffset], ['2026-03-04T01:00:00.000Z', '-15:30'])
      const object = (await byClass(patient).get(name, String(created.id)).expect(200)).body
      assert.equal(object.utcOffset, '-15:30')
      for (const timestamp of ['2026-03-04 09:30:00+01:00', '2026-03-05T09:30:00.1234567890+01:00']) {
        kinds[name].body.timestamp = timestamp
        assert.equal((await createByPath(patient, name, place)).utcOffset, '+01:00', timestamp)
      }
      const points = await patient.call('GET', pathOf(name, place, 'omh'))
      if (points.status !== 200) return
      const texts = JSON.stringify(points.body)
      for (const local of ['2026-03-02T09:30:00.000+05:30', '2026-03-03T09:30:00.000-15:30'])
        assert.ok(texts.includes(local), `${local} in ${texts.slice(0, 500)}`)
    })
  }

  it('has any form of ISO 8601 at any depth of a payload, and in a live query', async () => {
    const { post, list } = byClass(patient)
    const { answer, socket } = await openRawSocket()
    await answer(createConnectMessage({ sessionToken: patient.sessionToken }))
    for (const [i, [iso, utc]] of FORMS.entries()) {
      const date = { __type: 'Date', iso }
      const ids = { ehrId: place.ehrId, carePlanId: place.carePlanId }
      const payload = { at: date, list: [{ at: date }] }
      const { body } = await post('Custom', { ...ids, modelClassName: 'Diary', payload }).expect(201)
      assert.deepEqual(body.payload, { at: parseDate(utc), list: [{ at: parseDate(utc) }] })
      const { results } = (await list('Custom', { 'payload.at': date }).expect(200)).body
      assert.ok(results.some(({ objectId }: Json) => objectId === body.objectId))
      const query = { className: 'Custom', where: { updatedAt: { $lt: date } } }
      assert.equal((await answer({ op: 'subscribe', requestId: i + 1, query })).op, 'subscribed', iso)
    }
    socket.close()
  })
})

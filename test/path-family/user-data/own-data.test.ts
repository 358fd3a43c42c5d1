import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { Response } from 'supertest'
import {
  addParticipant,
  createPatient,
  createPlan,
  type Patient,
  readAudit,
} from '../../harness/care/patients.ts'
import { createClassClient, parseDate } from '../../harness/clients/class-client.ts'
import { assertProblem, assertProblemPlaces, assertStatus } from '../../harness/clients/path-client.ts'
import { createPerson, createRoleHolder, type Person } from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'

type Shown = Record<string, unknown>

describe('a user’s own data', () => {
  let modeller: Person
  let patient: Patient
  let nurse: Person
  let reader: Person
  let stranger: Person
  let carePlanId: string
  before(async () => {
    ;[modeller, patient, nurse, reader, stranger] = await Promise.all([
      createRoleHolder('modeller'),
      createPatient(),
      createPerson(),
      createPerson(),
      createPerson(),
    ])
    carePlanId = await createPlan(patient)
    await addParticipant(carePlanId, nurse, 'write')
    await addParticipant(carePlanId, reader, 'read')
  })

  const data = (path = 'measurement', of = patient) => `/data/${of.mvUid}/${path}`
  const steps = (more: object = {}) => ({
    carePlanId,
    dataType: 'steps',
    value: 8214,
    timestamp: '2026-03-01T20:00:00Z',
    ...more,
  })
  const store = (body: unknown, who: Person = patient) => who.call('POST', data(), body)
  const list = async (query: string, who: Person = patient) =>
    assertStatus(await who.call('GET', `${data()}?${query}`))
  const newType = async (more: object): Promise<string> => {
    const type = `t-${randomUUID()}`
    const body = { type, name: 'Of a test', schema: { type: 'number' }, ...more }
    assertStatus(await modeller.call('POST', '/data/type/data', body), 201)
    return type
  }
  const statuses = ({ items }: { items: Shown[] }) => items.map(({ status }) => status)

  it('are stored one by one by writers of the plan, with the fields of their type', async () => {
    const device = { type: 'watch', serial: 'SN-1' }
    const body = steps({ timestamp: '2026-03-02T20:00:00Z', device, comment: 'After a walk' })
    const answer = await store(body, nurse)
    const { items, stored } = assertStatus(answer, 201)
    assert.equal(stored, 1)
    const [{ status, href, id }] = items
    assert.deepEqual([status, href], ['stored', `/ehr/${patient.ehrId}/measurement/${id}`])
    assert.equal(answer.headers.get('location'), href)
    const { createdAt, updatedAt, ...fields } = assertStatus(await patient.call('GET', href))
    assert.deepEqual(fields, {
      id,
      version: 1,
      ehrId: patient.ehrId,
      carePlanId,
      utcOffset: null,
      dataType: 'steps',
      value: 8214,
      unit: null,
      timestamp: '2026-03-02T20:00:00.000Z',
      device,
      comment: 'After a walk',
      name: 'Steps',
      typeVersion: 1,
      amount: 8214,
      amountUnit: '{steps}',
      warnings: [],
    })
    assertProblem(await store(body, reader), 403, 'forbidden')
    assertProblem(await store(body, stranger), 404, 'not-found')
    assert.deepEqual(statuses(assertStatus(await store(body))), ['known'])
  })

  it('are the same documents as the class Measurement, with any value', async () => {
    const values = [true, 'good', [1, 2], { hours: 7.5 }]
    for (const [i, value] of values.entries()) {
      const dataType = await newType({ schema: { title: 'Anything' } })
      const [{ href, id }] = assertStatus(await store(steps({ dataType, value })), 201).items
      assert.deepEqual(assertStatus(await patient.call('GET', href)).value, value)
      const { body } = await createClassClient(patient).get('Measurement', id).expect(200)
      const field = ['valueBoolean', 'valueText', 'valueList', 'valueObject'][i] as string
      assert.deepEqual([body[field], body.value, body.typeVersion], [value, undefined, 1])
      const object = {
        dataType,
        carePlanId,
        timestamp: parseDate('2026-03-01T20:00:00.000Z'),
        [field]: value,
      }
      const { objectId } = (await createClassClient(patient).post('Measurement', object).expect(201)).body
      const read = assertStatus(await patient.call('GET', `/ehr/${patient.ehrId}/measurement/${objectId}`))
      assert.deepEqual([read.value, read.name], [value, 'Of a test'])
      const answer = await createClassClient(patient).post('Measurement', { ...object, value: 1 })
      assert.match(answer.body.error, /value must be sent in exactly one field/)
    }
    const unknown = {
      dataType: 'nothing',
      carePlanId,
      timestamp: parseDate('2026-03-01T20:00:00.000Z'),
      value: 1,
    }
    assert.match(
      (await createClassClient(patient).post('Measurement', unknown)).body.error,
      /must be the name of a data type/,
    )
  })

  it('are rejected with all violations, and each item of an array separately', async () => {
    const wrong: [body: object, places: string[]][] = [
      [{ value: -1 }, ['body.value']],
      [{ value: 0.5, unit: 'km' }, ['body.value', 'body.unit']],
      [{ value: 'many' }, ['body.value']],
      [{ dataType: 'nothing' }, ['body.dataType']],
      [{ timestamp: '1800-01-01T00:00:00Z' }, ['body.timestamp']],
      [{ device: { type: 'toaster' } }, ['body.device.type']],
      [{ dataType: 'sleep', value: 25 }, ['body.value']],
    ]
    for (const [more, places] of wrong)
      assert.deepEqual(
        assertProblemPlaces(await store(steps(more)), 422, 'rule-violated'),
        places,
        JSON.stringify(more),
      )
    assert.deepEqual(
      assertProblemPlaces(await store({ ...steps(), value: undefined }), 400, 'invalid-input'),
      ['body.value'],
    )
    assert.deepEqual(assertProblemPlaces(await store(steps({ dataType: '../x' })), 400, 'invalid-input'), [
      'body.dataType',
    ])
    const large = Buffer.from(JSON.stringify(steps()).replace('8214', '1e400'))
    const json = { 'content-type': 'application/json' }
    assertProblem(await patient.call('POST', data(), large, json), 400, 'malformed-request')
    const deep = `${'['.repeat(100)}${']'.repeat(100)}`
    const nested = JSON.parse(`{"a":${'['.repeat(20)}${']'.repeat(20)}}`)
    assertProblem(await store(JSON.parse(deep)), 400, 'malformed-request')
    const dataType = await newType({ schema: { title: 'Anything' } })
    const at = assertProblemPlaces(await store(steps({ dataType, value: nested })), 422, 'rule-violated')
    assert.deepEqual(at, ['body.value'])
    const keyed = await store(steps({ dataType, value: { 'a.b': 1 } }))
    assert.deepEqual(assertProblemPlaces(keyed, 422, 'rule-violated'), ['body.value.a.b'])

    const times = ['2026-04-01T20:00:00Z', '2026-04-02T20:00:00Z']
    const mixed = [
      steps({ timestamp: times[0] }),
      steps({ value: -1 }),
      {},
      null,
      steps({ timestamp: times[1] }),
    ]
    const answer = assertStatus(await store(mixed))
    assert.deepEqual(statuses(answer), ['stored', 'refused', 'refused', 'refused', 'stored'])
    assert.deepEqual([answer.stored, answer.known, answer.refused], [2, 0, 3])
    assert.deepEqual(
      answer.items[1].errors.map(({ path }: Shown) => path),
      ['body.1.value'],
    )
    assert.deepEqual(statuses(assertStatus(await store([steps({ timestamp: times[0] })]))), ['known'])
    const elsewhere = [steps({ carePlanId: 'elsewhere' }), steps({ timestamp: '2026-04-03T20:00:00Z' })]
    assert.deepEqual(statuses(assertStatus(await store(elsewhere))), ['refused', 'stored'])
    assertProblem(await store([elsewhere[0]]), 404, 'not-found')
    assertProblem(await store([]), 400, 'invalid-input')
    assertProblem(await store(Array(1001).fill(steps())), 400, 'invalid-input')
  })

  it('are stored once for an Idempotency-Key', async () => {
    const key = { 'idempotency-key': randomUUID() }
    const body = [steps({ timestamp: '2026-05-01T20:00:00Z' })]
    const ids = []
    for (let i = 0; i < 2; i++)
      ids.push(
        assertStatus(await patient.call('POST', data(), body, key)).items.map(({ status, id }: Shown) => [
          status,
          id,
        ]),
      )
    assert.deepEqual(ids[0], ids[1])
  })

  it("are checked for warnings, converted to their type's unit, and keep the type's version", async () => {
    const type = await newType({ unit: 'cm', ranges: { hard: { min: 20 }, warn: { max: 180 } } })
    const [{ href, warnings }] = assertStatus(
      await store(steps({ dataType: type, value: 2, unit: 'm' })),
      201,
    ).items
    assert.deepEqual(
      warnings.map(({ path, code }: Shown) => [path, code]),
      [['value', 'unusual']],
    )
    const measurement = assertStatus(await patient.call('GET', href))
    assert.deepEqual(
      [measurement.value, measurement.unit, measurement.amount, measurement.amountUnit],
      [2, 'm', 200, 'cm'],
    )
    const narrower = {
      type,
      name: 'Narrower',
      schema: { type: 'number' },
      unit: 'cm',
      ranges: { hard: { max: 100 } },
    }
    assertStatus(await modeller.call('PUT', `/data/type/data/${type}`, narrower))
    const { id: _, version: __, ehrId: ___, createdAt, updatedAt, ...rest } = measurement
    const { name, typeVersion, amount, amountUnit, warnings: _w, ...body } = rest
    const corrected = assertStatus(await patient.call('PUT', href, { ...body, value: 1.9 }))
    assert.deepEqual([corrected.amount, corrected.typeVersion, corrected.name], [190, 1, 'Of a test'])
    assert.deepEqual(
      assertProblemPlaces(await patient.call('PUT', href, { ...body, value: 0.1 }), 422, 'rule-violated'),
      ['body.value'],
    )
    assert.equal(
      assertStatus(await patient.call('GET', `/data/type/data/${type}?version=1`)).name,
      'Of a test',
    )
    const higher = steps({ dataType: type, value: 190 })
    assert.deepEqual(assertProblemPlaces(await store(higher), 422, 'rule-violated'), ['body.value'])
    assertProblem(await modeller.call('DELETE', `/data/type/data/${type}`), 409, 'conflict')
    assertStatus(await modeller.call('PUT', `/data/type/data/${type}`, { ...narrower, retired: true }))
    assert.deepEqual(assertProblemPlaces(await store({ ...higher, value: 90 }), 422, 'rule-violated'), [
      'body.dataType',
    ])
    assertStatus(await patient.call('PUT', href, { ...body, value: 1.8 }))
  })

  it('are limited to the daily quota of their type, in both families: then 429 with the alternative', async () => {
    const dataType = await newType({ perDay: 3 })
    const timeOf = (hour: number, day = 10) =>
      steps({ dataType, value: hour, timestamp: `2026-06-${day}T0${hour}:00:00Z` })
    assert.deepEqual(statuses(assertStatus(await store([timeOf(0), timeOf(1), timeOf(0, 11)]))), [
      'stored',
      'stored',
      'stored',
    ])
    assert.deepEqual(statuses(assertStatus(await store([timeOf(0), timeOf(2), timeOf(3), timeOf(1, 11)]))), [
      'known',
      'stored',
      'refused',
      'stored',
    ])
    const alone = await store(timeOf(4))
    assertProblem(alone, 429, 'too-many-requests')
    assert.match(alone.body.detail, /aggregates/)
    const object = { dataType, carePlanId, timestamp: parseDate('2026-06-10T05:00:00.000Z'), value: 1 }
    const { body } = await createClassClient(patient).post('Measurement', object)
    assert.deepEqual([body.code, /aggregates/.test(body.error)], [155, true])
    const single = await patient.call('POST', `/ehr/${patient.ehrId}/measurement`, timeOf(4))
    assertProblem(single, 429, 'too-many-requests')
    assertStatus(await store(timeOf(4, 12)), 201)
    const path = `/ehr/${patient.ehrId}/measurement`
    const key = { 'idempotency-key': randomUUID() }
    assertProblem(await patient.call('POST', path, timeOf(4), key), 429, 'too-many-requests')
    const { items } = assertStatus(
      await patient.call('GET', `${path}?dataType=${dataType}&order=asc&limit=1`),
    )
    assertStatus(await patient.call('DELETE', `${path}/${items[0].id}`), 204)
    assertStatus(await patient.call('POST', path, timeOf(4), key), 201)
  })

  it('stay within the quota in concurrent requests to the class family, like occurrences', async () => {
    const owner = await createPatient()
    const plan = await createPlan(owner)
    const perDay = 3
    const eventType = `e-${randomUUID()}`
    assertStatus(
      await modeller.call('POST', '/data/type/event', { type: eventType, name: 'Rare', perDay }),
      201,
    )
    const types = { Measurement: { dataType: await newType({ perDay }) }, Occurrence: { eventType } }
    // On a busy machine, a write can wait too long for its turn: nothing is stored then.
    const { post } = createClassClient(owner)
    const postInTurn = async (...object: Parameters<typeof post>): Promise<Response> => {
      const answer = await post(...object)
      return answer.status === 503 ? postInTurn(...object) : answer
    }
    for (const [name, type] of Object.entries(types)) {
      const objects = Array.from({ length: 50 }, (_, value) => ({
        ...type,
        carePlanId: plan,
        timestamp: parseDate('2026-06-20T05:00:00.000Z'),
        ...(name === 'Measurement' && { value }),
      }))
      const answers = await Promise.all(objects.map((one) => postInTurn(name, one)))
      const codes = answers.map(({ status, body }) => (status === 201 ? 'stored' : body.code)).sort()
      assert.deepEqual(codes, [...Array(50 - perDay).fill(155), ...Array(perDay).fill('stored')], name)
      assert.equal(await service.db.collection(name).countDocuments(type), perDay)
    }
  })

  it('are listed by type, time, plan and device, page by page', async () => {
    const owner = await createPatient()
    const plans = [await createPlan(owner), await createPlan(owner)]
    const device = { type: 'watch', serial: 'W-7' }
    const items = Array.from({ length: 6 }, (_, i) => ({
      carePlanId: plans[i % 2],
      dataType: i < 4 ? 'steps' : 'pain',
      value: i,
      timestamp: `2026-03-0${i + 1}T08:00:00Z`,
      ...(i === 0 && { device }),
    }))
    assert.equal(assertStatus(await owner.call('POST', data('measurement', owner), items)).stored, 6)
    const values = async (query: string) =>
      assertStatus(await owner.call('GET', `${data('measurement', owner)}?${query}`)).items.map(
        ({ value }: Shown) => value,
      )
    assert.deepEqual(await values(''), [5, 4, 3, 2, 1, 0])
    assert.deepEqual(await values('order=asc&limit=2'), [0, 1])
    assert.deepEqual(await values('dataType=pain'), [5, 4])
    assert.deepEqual(await values(`carePlanId=${plans[1]}`), [5, 3, 1])
    assert.deepEqual(await values(`carePlanId=${plans[1]}&dataType=steps`), [3, 1])
    assert.deepEqual(await values('from=2026-03-02T00:00:00Z&to=2026-03-04T00:00:00Z'), [2, 1])
    assert.deepEqual(await values('device=W-7'), [0])
    const { page } = assertStatus(await owner.call('GET', `${data('measurement', owner)}?limit=4&count=true`))
    assert.equal(page.total, 6)
    assert.deepEqual(await values(`limit=4&cursor=${page.next}`), [1, 0])
    assertProblem(await stranger.call('GET', data('measurement', owner)), 404, 'not-found')
    await addParticipant(plans[1] as string, nurse, 'read')
    const visibleItems = assertStatus(await nurse.call('GET', data('measurement', owner))).items
    assert.deepEqual(
      visibleItems.map(({ value }: Shown) => value),
      [5, 3, 1],
    )
  })

  it('are not found by user for participants of anonymous plans only', async () => {
    const owner = await createPatient()
    const plan = await createPlan(owner, { anonymous: true })
    const other = await createPerson()
    await addParticipant(plan, other, 'write')
    assertProblem(await other.call('GET', data('measurement', owner)), 404, 'not-found')
    const body = { ...steps(), carePlanId: plan }
    assertProblem(await other.call('POST', data('measurement', owner), body), 404, 'not-found')
    assertStatus(await other.call('POST', `/ehr/${owner.ehrId}/measurement`, body), 201)
  })

  it('are summed up by day, week and month of the user’s time zone', async () => {
    const owner = await createPatient()
    const plan = await createPlan(owner)
    const at = (timestamp: string, value: number) => ({
      carePlanId: plan,
      dataType: 'steps',
      value,
      timestamp,
    })
    const items = [
      // In Amsterdam the first value is of 1 March. The last one is of 29 March, when the clocks change.
      at('2026-02-28T23:30:00Z', 100),
      at('2026-03-01T10:00:00Z', 300),
      at('2026-03-01T23:30:00Z', 50),
      at('2026-03-28T23:00:00Z', 10),
      at('2026-03-29T21:59:59Z', 20),
    ]
    assert.equal(assertStatus(await owner.call('POST', data('measurement', owner), items)).stored, 5)
    const sums = async (query: string, who: Person = owner) =>
      assertStatus(await who.call('GET', `${data('measurement', owner)}?dataType=steps&${query}`)).items.map(
        ({ day, count, min, max, mean, last }: Shown) => [day, count, min, max, mean, last],
      )
    assert.deepEqual(await sums('aggregate=day&order=asc'), [
      ['2026-02-28', 1, 100, 100, 100, 100],
      ['2026-03-01', 2, 50, 300, 175, 50],
      ['2026-03-28', 1, 10, 10, 10, 10],
      ['2026-03-29', 1, 20, 20, 20, 20],
    ])
    const profile = { name: { displayName: 'Ann' }, timeZone: 'Europe/Amsterdam' }
    assert.equal(
      assertStatus(await owner.call('PUT', `/profile/${owner.mvUid}`, profile)).timeZone,
      'Europe/Amsterdam',
    )
    const byDay = [
      ['2026-03-29', 2, 10, 20, 15, 20],
      ['2026-03-02', 1, 50, 50, 50, 50],
      ['2026-03-01', 2, 100, 300, 200, 300],
    ]
    assert.deepEqual(await sums('aggregate=day'), byDay)
    const { items: days, page } = assertStatus(
      await owner.call(
        'GET',
        `${data('measurement', owner)}?dataType=steps&aggregate=day&limit=2&count=true`,
      ),
    )
    assert.deepEqual(
      [days[0].from, days[0].to, days[0].unit, page.total],
      ['2026-03-28T23:00:00.000Z', '2026-03-29T22:00:00.000Z', '{steps}', 3],
    )
    assert.deepEqual(await sums(`aggregate=day&limit=2&cursor=${page.next}`), byDay.slice(2))
    assert.deepEqual(await sums('aggregate=week&order=asc'), [
      ['2026-02-23', 2, 100, 300, 200, 300],
      ['2026-03-02', 1, 50, 50, 50, 50],
      ['2026-03-23', 2, 10, 20, 15, 20],
    ])
    assert.deepEqual(await sums('aggregate=month'), [['2026-03-01', 5, 10, 300, 96, 20]])
    assert.deepEqual((await sums('aggregate=day&timeZone=UTC')).length, 4)
    assert.deepEqual(await sums('aggregate=day&from=2026-03-20T00:00:00Z'), byDay.slice(0, 1))
    assert.deepEqual(await sums('aggregate=day&to=2026-03-28T23:00:00Z'), byDay.slice(1))
    const firstDays = `${data('measurement', owner)}?dataType=steps&aggregate=day&order=asc&limit=2`
    const { next } = assertStatus(await owner.call('GET', firstDays)).page
    assert.deepEqual(await sums(`aggregate=day&order=asc&limit=2&cursor=${next}`), byDay.slice(0, 1))
    assertProblem(
      await stranger.call('GET', `${data('measurement', owner)}?dataType=steps&aggregate=day`),
      404,
      'not-found',
    )
    const wrong = await owner.call('GET', `${data('measurement', owner)}?aggregate=day&device=x`)
    assert.deepEqual(assertProblemPlaces(wrong, 400, 'invalid-input'), ['query.dataType', 'query.device'])
    const zone = await owner.call('GET', `${data('measurement', owner)}?timeZone=Mars/Base`)
    assert.deepEqual(assertProblemPlaces(zone, 400, 'invalid-input'), ['query.timeZone'])
  })

  it('are summed up by day where the clocks go forward at midnight', async () => {
    const owner = await createPatient()
    const plan = await createPlan(owner)
    const times = ['2026-03-28T12:00:00Z', '2026-03-29T00:30:00Z', '2026-03-29T02:00:00Z']
    const items = times.map((timestamp, i) => ({
      carePlanId: plan,
      dataType: 'steps',
      value: 1000 + i,
      timestamp,
    }))
    assertStatus(await owner.call('POST', data('measurement', owner), items))
    const query = 'dataType=steps&aggregate=day&timeZone=Atlantic/Azores&order=asc'
    const measurements = assertStatus(await owner.call('GET', `${data('measurement', owner)}?${query}`)).items
    assert.deepEqual(
      measurements.map(({ day, count, from, to }: Shown) => [day, count, from, to]),
      [
        ['2026-03-28', 2, '2026-03-28T01:00:00.000Z', '2026-03-29T01:00:00.000Z'],
        ['2026-03-29', 1, '2026-03-29T01:00:00.000Z', '2026-03-30T00:00:00.000Z'],
      ],
    )
  })

  it('may be extreme numbers, in graphs and sums, too', async () => {
    const most = Number.MAX_VALUE
    for (const [values, mean] of [
      [[most], most],
      [[1e308, -1e308], 0],
      [[2 ** 1023, 2 ** 1022], 0.75 * 2 ** 1023],
      [[-most, -most, -most], -most],
    ] as const) {
      const dataType = await newType({})
      for (const [i, value] of values.entries()) {
        const timestamp = `2026-03-01T20:00:0${i}Z`
        assertStatus(await store({ carePlanId, dataType, value, timestamp }), 201)
      }
      const path = `/ehr/${patient.ehrId}/summary`
      const { series, axes } = assertStatus(
        await patient.call('GET', `${path}/medgraph?measures=${dataType}`),
      )
      assert.deepEqual([series[0].stats.mean, series[0].total], [mean, values.length])
      assert.ok(axes[0].min <= Math.min(...values) && axes[0].max >= Math.max(...values))
      const { items } = await list(`dataType=${dataType}&aggregate=day`)
      assert.deepEqual([items[0].mean, items[0].count], [mean, values.length])
      assertStatus(await patient.call('GET', `${path}/timeline`))
      assertStatus(await patient.call('GET', `/fhir/R4/Observation?patient=${patient.ehrId}`))
    }
  })

  it('refuse a number that is too large in the unit of the type', async () => {
    const dataType = await newType({ unit: 'g' })
    const body = { carePlanId, dataType, unit: 'kg', timestamp: '2026-03-01T20:00:00Z' }
    const refused = await store({ ...body, value: 1e306 })
    assert.deepEqual(assertProblemPlaces(refused, 422, 'rule-violated'), ['body.value'])
    assertStatus(await store({ ...body, value: 1e305 }), 201)
    assert.equal((await list(`dataType=${dataType}`)).items[0].amount, 1e308)
  })

  it('appear in timeline and graph, and obey the thresholds of their plan', async () => {
    const owner = await createPatient()
    const plan = await createPlan(owner)
    const thresholds = `careplan/${plan}/thresholds`
    assertStatus(await owner.call('PUT', thresholds, { pain: { valueHigh: 6, unit: '{score}' } }))
    const nothing = await owner.call('PUT', thresholds, { nothing: { valueHigh: 6, unit: 'x' } })
    assert.deepEqual(assertProblemPlaces(nothing, 422, 'rule-violated'), ['body.nothing'])
    const pain = [3, 8, 5].map((value, i) => ({
      carePlanId: plan,
      dataType: 'pain',
      value,
      timestamp: `2026-03-0${i + 1}T08:00:00Z`,
    }))
    const { items } = assertStatus(await owner.call('POST', data('measurement', owner), pain))
    const alerts = assertStatus(
      await owner.call('GET', `/med/${owner.ehrId}/event?type=measurement-alert`),
    ).items
    assert.deepEqual(
      alerts.map(({ id, title, severity }: Shown) => [id, title, severity]),
      [[items[1].id, 'Pain score 8 points: High', 'HIGH']],
    )
    const { events } = assertStatus(await owner.call('GET', 'summary/timeline'))
    assert.deepEqual(
      events
        .filter(({ kind }: Shown) => kind === 'measurement')
        .map(({ content, href }: Shown) => [content, href]),
      [2, 1, 0].map((i) => [`Pain score ${pain[i]?.value} points`, items[i].href]),
    )
    for (const query of ['', '?measures=pain', '?measures=pain.value']) {
      const { series, annotations } = assertStatus(await owner.call('GET', `summary/medgraph${query}`))
      assert.deepEqual(
        series.map(({ id, unitLabel, points }: Shown) => [
          id,
          unitLabel,
          (points as Shown[]).map(({ y }) => y),
        ]),
        [['pain.value', 'points', [3, 8, 5]]],
      )
      assert.deepEqual(
        series[0].bands.map(({ code, from, to }: Shown) => [code, from, to]),
        [
          ['normal', null, 6],
          ['high', 6, null],
        ],
      )
      assert.equal(annotations.length, 1)
    }
    const unknown = await owner.call('GET', 'summary/medgraph?measures=nothing')
    assert.deepEqual(assertProblemPlaces(unknown, 400, 'invalid-input'), ['query.measures'])
  })

  it('include occurrences of event types, one at a time', async () => {
    const fall = {
      carePlanId,
      timestamp: '2026-03-01T20:00:00Z',
      data: { injured: true },
      comment: 'On the stairs',
    }
    const since = new Date()
    const stored = await nurse.call('POST', data('event/fall'), fall)
    const { id, createdAt, updatedAt, ...fields } = assertStatus(stored, 201)
    assert.equal(stored.headers.get('location'), `/ehr/${patient.ehrId}/occurrence/${id}`)
    assert.deepEqual(fields, {
      ...fall,
      timestamp: '2026-03-01T20:00:00.000Z',
      ehrId: patient.ehrId,
      eventType: 'fall',
      version: 1,
      typeVersion: 1,
      name: 'Fall',
      severity: 'HIGH',
      utcOffset: null,
    })
    assert.deepEqual(await readAudit(patient.ehrId, since), ['create Occurrence done'])
    const path = (query: string) => `${data('event/fall')}?${query}`
    const listIds = async (query: string) =>
      assertStatus(await patient.call('GET', path(query))).items.map((one: Shown) => one.id)
    assert.deepEqual(await listIds(`carePlanId=${carePlanId}`), [id])
    assert.deepEqual(await listIds('to=2026-03-01T00:00:00Z'), [])
    assert.deepEqual(assertStatus(await patient.call('GET', data('event/hypoglycaemia'))).items, [])
    const wrong = await patient.call('POST', data('event/fall'), { ...fall, data: { injured: 'very' } })
    assert.deepEqual(assertProblemPlaces(wrong, 422, 'rule-violated'), ['body.data.injured'])
    assertProblem(await reader.call('POST', data('event/fall'), fall), 403, 'forbidden')
    assertProblem(await stranger.call('POST', data('event/fall'), fall), 404, 'not-found')
    assertProblem(await stranger.call('GET', data('event/fall')), 404, 'not-found')
    const type = `e-${randomUUID()}`
    assertStatus(await modeller.call('POST', '/data/type/event', { type, name: 'Rare', perDay: 1 }), 201)
    assertStatus(await patient.call('POST', data(`event/${type}`), { ...fall, data: {} }), 201)
    assertProblem(
      await patient.call('POST', data(`event/${type}`), { ...fall, data: {} }),
      429,
      'too-many-requests',
    )
    assertProblem(await modeller.call('DELETE', `/data/type/event/${type}`), 409, 'conflict')
    const { events } = assertStatus(await patient.call('GET', 'summary/timeline?kinds=occurrence'))
    assert.deepEqual(events.map(({ content, group }: Shown) => `${group} ${content}`).sort(), [
      'events Fall',
      'events Rare',
    ])
  })

  it('are not found for an unknown user', async () => {
    const { items } = await list('dataType=steps&limit=1')
    assert.equal(items.length, 1)
    assertProblem(await patient.call('GET', '/data/nobody1234/measurement'), 404, 'not-found')
  })
})

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { createPatient, createPlan, type Patient, readAudit } from '../../harness/care/patients.ts'
import { assertError, createClassClient, parseDate } from '../../harness/clients/class-client.ts'
import { assertProblem, assertProblemPlaces, assertStatus } from '../../harness/clients/path-client.ts'
import { createRoleHolder, type Person } from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'

type Shown = Record<string, unknown>

describe('the values of a data type', () => {
  let modeller: Person
  let patient: Patient
  let carePlanId: string
  before(async () => {
    ;[modeller, patient] = await Promise.all([createRoleHolder('modeller'), createPatient()])
    carePlanId = await createPlan(patient)
  })

  const newType = async (more: object = {}, type = `t-${randomUUID()}`): Promise<string> => {
    const body = { type, name: 'Of a test', schema: { type: 'number' }, ...more }
    assertStatus(await modeller.call('POST', '/data/type/data', body), 201)
    return type
  }
  const path = () => `/data/${patient.mvUid}/measurement`
  const store = (dataType: string, value: unknown, more: object = {}) => {
    const body = { carePlanId, dataType, value, timestamp: '2026-03-01T20:00:00Z', ...more }
    return patient.call('POST', path(), body)
  }
  const storeOne = async (...one: Parameters<typeof store>): Promise<Shown> => {
    const [{ href, status }] = assertStatus(await store(...one), 201).items
    assert.equal(status, 'stored')
    return assertStatus(await patient.call('GET', href))
  }
  const refused = async (...one: Parameters<typeof store>) => {
    const answer = await store(...one)
    assert.deepEqual(assertProblemPlaces(answer, 422, 'rule-violated'), ['body.value'], JSON.stringify(one))
    return answer.body.errors[0].message
  }

  it('obey its schema in the unit of the type, whatever unit they are sent in', async () => {
    const girth = await newType({ unit: 'cm', schema: { type: 'number', minimum: 20, maximum: 300 } })
    assert.equal((await storeOne(girth, 1, { unit: 'm' })).amount, 100)
    assert.match(await refused(girth, 250, { unit: 'm' }), /must be at most 300/)
    assert.match(await refused(girth, 19), /must be at least 20/)
    const whole = await newType({ unit: 'cm', schema: { type: 'integer' } })
    assert.equal((await storeOne(whole, 1.5, { unit: 'm' })).amount, 150)
    assert.match(await refused(whole, 31, { unit: '[in_i]' }), /must be an integer/)
  })

  it('are not values of Parse that its SDK cannot read, in any of the kinds with free data', async () => {
    const type = await newType({ schema: {} })
    const start = '2026-03-01T20:00:00Z'
    const send = (free: unknown): Record<string, ReturnType<typeof store>> => ({
      value: store(type, free),
      data: patient.call('POST', `/med/${patient.ehrId}/event`, {
        carePlanId,
        type: 'note',
        title: 'x',
        start,
        data: { free },
      }),
    })
    const unreadable = [
      { __type: 'File', name: 'x' },
      { __type: 'Date', iso: 'x' },
      { __type: 'GeoPoint', latitude: 500, longitude: 0 },
      { __type: 'Polygon', coordinates: 5 },
      {
        __type: 'Polygon',
        coordinates: [
          [0, 0, 0],
          [0, 1, 0],
          [1, 0, 0],
        ],
      },
      { __type: 'Other' },
    ]
    for (const one of [...unreadable, { a: unreadable[0] }, [unreadable[1]]])
      for (const [name, answer] of Object.entries(send(one))) {
        const [place] = assertProblemPlaces(await answer, 422, 'rule-violated')
        assert.ok(place?.startsWith(`body.${name}`), place)
      }
    const classes = createClassClient(patient)
    const { id } = await storeOne(type, { __type: 'Date', iso: '2026-03-01' })
    assert.equal((await classes.put('Measurement', String(id), { comment: 'x' })).status, 200)
  })

  it('get an answer in the class family even if an earlier release stored what Parse cannot read', async () => {
    const type = await newType({ schema: {} })
    const unreadable = [
      { valueObject: { __type: 'File', name: 'x' } },
      { valueObject: { __type: 'Date', iso: 'x' } },
      { valueList: [{ __type: 'File', name: 'x' }] },
    ]
    for (const fields of unreadable) {
      const { id } = await storeOne(type, fields.valueList ? [randomUUID()] : { a: randomUUID() })
      await service.db.collection('Measurement').updateOne({ _id: id as never }, { $set: fields })
      const classes = createClassClient(patient)
      assertError(await classes.put('Measurement', String(id), { comment: 'x' }), 142, /value.* __type/)
      const mended = fields.valueList ? { valueList: [1] } : { valueObject: { a: 1 } }
      const answer = await classes.put('Measurement', String(id), mended)
      assert.equal(answer.status, 200, JSON.stringify(answer.body))
    }
  })

  it('are multiples of decimals', async () => {
    for (const [multipleOf, multiples, others] of [
      [0.1, [0.3, 1.1, 72.7, -0.7, 0, 12_345_678.9, 1e21], [0.35, 0.30000000001, 12_345_678.95]],
      [0.01, [1_234_567.89, 0.07], [0.075]],
      [1e-7, [3e-7], [3.5e-7]],
    ] as const) {
      const type = await newType({ schema: { type: 'number', multipleOf } })
      for (const value of multiples) await storeOne(type, value)
      for (const value of others)
        assert.equal(await refused(type, value), `value must be a multiple of ${multipleOf}.`)
    }
  })

  it('keep their digits however small they are, whatever unit they are sent in', async () => {
    const mass = await newType({ unit: 'kg' })
    const amounts = []
    for (const value of [0.02, 0.04, 12.3456, 70_000.01])
      amounts.push((await storeOne(mass, value, { unit: 'g' })).amount)
    assert.deepEqual(amounts, [0.00002, 0.00004, 0.01235, 70])
    assert.equal(assertStatus(await store(mass, 0.00002)).items[0].status, 'known')
    assert.equal((await storeOne(mass, 150, { unit: '[lb_av]' })).amount, 68.0389)
  })

  it('keep their digits in sums, graphs and texts', async () => {
    const owner = await createPatient()
    const plan = await createPlan(owner)
    const trace = await newType({ unit: 'mg/L', name: 'Trace' })
    const thresholds = { [trace]: { valueHigh: 0.00002, unit: 'mg/L' } }
    assertStatus(await owner.call('PUT', `careplan/${plan}/thresholds`, thresholds))
    for (const [hour, value] of [0.00001, 0.000021, 1e-7].entries()) {
      const body = { carePlanId: plan, dataType: trace, value, timestamp: `2026-03-01T1${hour}:00:00Z` }
      assertStatus(await owner.call('POST', `/data/${owner.mvUid}/measurement`, body), 201)
    }
    const query = `dataType=${trace}&aggregate=day`
    const { items } = assertStatus(await owner.call('GET', `/data/${owner.mvUid}/measurement?${query}`))
    assert.deepEqual([items[0].min, items[0].max, items[0].mean], [1e-7, 0.000021, 0.00001037])
    const graph = assertStatus(await owner.call('GET', `summary/medgraph?measures=${trace}`))
    assert.equal(graph.series[0].stats.mean, 0.00001037)
    assert.deepEqual(
      graph.series[0].bands.map(({ from, to }: Shown) => [from, to]),
      [
        [null, 0.00002],
        [0.00002, null],
      ],
    )
    const { events } = assertStatus(await owner.call('GET', 'summary/timeline?kinds=measurement,alert'))
    assert.deepEqual(events.map(({ content }: Shown) => content).sort(), [
      'Trace 0.00001 mg/L',
      'Trace 0.000021 mg/L',
      'Trace 0.000021 mg/L: High',
      'Trace 1e-7 mg/L',
    ])
  })

  it('have a mean between the lowest and the highest', async () => {
    const type = await newType()
    for (const [hour, value] of [1.000_049, 1.000_049].entries())
      await storeOne(type, value, { timestamp: `2026-03-02T1${hour}:00:00Z` })
    const { items } = assertStatus(await patient.call('GET', `${path()}?dataType=${type}&aggregate=day`))
    assert.deepEqual([items[0].min, items[0].mean, items[0].max], [1.000_049, 1.000_049, 1.000_049])
  })

  it('have an axis of their own in the graph, even if the type is named like a kind of quantity', async () => {
    const owner = await createPatient()
    const plan = await createPlan(owner)
    const types = ['temperature', 'mass', 'pressure', 'frequency', 'fraction', 'glucose', 'length']
    for (const type of types) {
      await newType({ unit: 'K' }, type)
      const body = { carePlanId: plan, dataType: type, value: 293.15, timestamp: '2026-03-01T20:00:00Z' }
      assertStatus(await owner.call('POST', `/data/${owner.mvUid}/measurement`, body), 201)
    }
    const fever = { temperature: 37, temperatureUnit: 'Cel', timestamp: '2026-03-01T20:00:00Z' }
    const procedure = { carePlanId: plan, ...fever }
    assertStatus(await owner.call('POST', 'procedure/bodytemperature', procedure), 201)
    const { axes, series } = assertStatus(await owner.call('GET', 'summary/medgraph'))
    assert.equal(axes.length, types.length + 1)
    for (const { axis, unit } of series) assert.equal(axes.find(({ id }: Shown) => id === axis).unit, unit)
  })

  it('are counted for the daily quota when a correction or a restoration moves them to another day', async () => {
    const type = await newType({ perDay: 1 })
    await storeOne(type, 1)
    assertProblem(await store(type, 2), 429, 'too-many-requests')
    const { id } = await storeOne(type, 2, { timestamp: '2026-03-02T20:00:00Z' })
    const href = `/ehr/${patient.ehrId}/measurement/${id}`
    const body = { carePlanId, dataType: type, value: 2 }
    const put = (timestamp: string, comment = '') =>
      patient.call('PUT', href, { ...body, timestamp, comment })
    const since = new Date()
    assertProblem(await put('2026-03-01T08:00:00Z'), 429, 'too-many-requests')
    assert.deepEqual(await readAudit(patient.ehrId, since), ['update Measurement refused'])
    const time = { timestamp: parseDate('2026-03-01T09:00:00.000Z') }
    const object = await createClassClient(patient).put('Measurement', id as string, time)
    assert.equal(object.body.code, 155)
    assertStatus(await put('2026-03-02T08:00:00Z', 'Earlier'))
    assertStatus(await put('2026-03-03T08:00:00Z'))
    await storeOne(type, 3, { timestamp: '2026-03-02T09:00:00Z' })
    const restored = await patient.call('POST', `${href}/restore`, { version: 2 })
    assertProblem(restored, 429, 'too-many-requests')
  })

  it('count like occurrences: a correction cannot move one to a full day', async () => {
    const type = `e-${randomUUID()}`
    assertStatus(await modeller.call('POST', '/data/type/event', { type, name: 'Rare', perDay: 1 }), 201)
    const add = async (timestamp: string) =>
      assertStatus(
        await patient.call('POST', `/data/${patient.mvUid}/event/${type}`, {
          carePlanId,
          timestamp,
          data: {},
        }),
        201,
      )
    await add('2026-03-01T20:00:00Z')
    const { id } = await add('2026-03-02T20:00:00Z')
    const body = { carePlanId, eventType: type, data: {}, timestamp: '2026-03-01T21:00:00Z' }
    const answer = await patient.call('PUT', `/ehr/${patient.ehrId}/occurrence/${id}`, body)
    assertProblem(answer, 429, 'too-many-requests')
  })

  it('may have thresholds below 0', async () => {
    const delta = await newType({ unit: 'Cel', ranges: { warn: { min: -5, max: 5 } } })
    const thresholds = { [delta]: { valueLow: -4, valueHigh: -1, unit: 'Cel' } }
    const path = `careplan/${await createPlan(patient)}/thresholds`
    assertStatus(await patient.call('PUT', path, thresholds))
    const pulse = await patient.call('PUT', path, { heartrate: { heartRateLow: -4, unit: '/min' } })
    assert.deepEqual(assertProblemPlaces(pulse, 422, 'rule-violated'), ['body.heartrate.heartRateLow'])
  })

  it('come from devices whose type has the data type', async () => {
    const [one, other] = [await newType(), await newType()]
    const meter = { type: `d-${randomUUID()}`, name: 'Meter', dataTypes: [one] }
    assertStatus(await modeller.call('POST', '/data/type/device', meter), 201)
    const device = { device: { type: meter.type } }
    const { id } = await storeOne(one, 1, device)
    const wrong = await store(other, 1, device)
    assert.deepEqual(assertProblemPlaces(wrong, 422, 'rule-violated'), ['body.device.type'])
    const meterForOther = { ...meter, dataTypes: [other] }
    assertStatus(await modeller.call('PUT', `/data/type/device/${meter.type}`, meterForOther))
    const corrected = { carePlanId, dataType: one, value: 2, timestamp: '2026-03-01T20:00:00Z', ...device }
    assertStatus(await patient.call('PUT', `/ehr/${patient.ehrId}/measurement/${id}`, corrected))
  })

  it('have a unit without a code in FHIR if it is no UCUM code', async () => {
    const type = await newType({ unit: 'mL' })
    const { id } = await storeOne(type, 5)
    const observation = async (of: unknown) => {
      const { valueQuantity } = assertStatus(await patient.call('GET', `/fhir/R4/Observation/${of}`))
      return { ...valueQuantity, extension: undefined }
    }
    const coded = { system: 'http://unitsofmeasure.org', code: 'mL' }
    assert.deepEqual(await observation(id), { value: 5, unit: 'mL', ...coded, extension: undefined })
    const other = await storeOne(await newType({ unit: 'a spoon' }), 5)
    assert.deepEqual(await observation(other.id), { value: 5, unit: 'a spoon', extension: undefined })
  })
})

import assert from 'node:assert/strict'
import { addParticipant, createPatient, createPlan, type Patient } from '../../harness/care/patients.ts'
import { assertProblem, assertProblemPlaces, assertStatus } from '../../harness/clients/path-client.ts'
import { createPerson } from '../../harness/people/people.ts'
import { recordCommands } from '../../harness/service/database-commands.ts'
import { service } from '../../harness/service/service.ts'

const timestamp = '2026-03-01T08:30:00.000Z'

describe('measurements', () => {
  let patient: Patient
  let carePlanId: string
  before(async () => {
    patient = await createPatient()
    carePlanId = await createPlan(patient)
  })

  const pathOf = (kind: string, id = '') => `/ehr/${patient.ehrId}/procedure/${kind}${id && `/${id}`}`
  const store = async (kind: string, body: object) =>
    assertStatus(await patient.call('POST', pathOf(kind), { carePlanId, timestamp, ...body }), 201)
  const pressure = { systolic: 128, systolicUnit: 'mmHg', diastolic: 82, diastolicUnit: 'mmHg' }

  it('are stored as sent, with the value in the unit of their kind next to it', async () => {
    const body = { systolic: 17, systolicUnit: 'kPa', diastolic: 80, diastolicUnit: 'mmHg', source: 'sensed' }
    const stored = await store('bloodpressure', body)
    for (const [field, value] of Object.entries(body)) assert.equal(stored[field], value, field)
    assert.deepEqual([stored.systolicMmHg, stored.diastolicMmHg], [127.5105, 80])
    assert.deepEqual([stored.meanArterialPressure, stored.pulsePressure], [95.8, 47.5])
    assert.deepEqual([stored.condition, stored.warnings, stored.ehrId], ['normal', [], patient.ehrId])
    assert.equal(stored.compositionId, stored.id)
    assert.deepEqual(stored.links, {
      self: pathOf('bloodpressure', stored.id),
      collection: pathOf('bloodpressure'),
      history: `${pathOf('bloodpressure', stored.id)}/history`,
      carePlan: `/ehr/${patient.ehrId}/careplan/${carePlanId}`,
    })
    for (const path of Object.values<string>(stored.links)) assertStatus(await patient.call('GET', path))
    assert.deepEqual(assertStatus(await patient.call('GET', pathOf('bloodpressure', stored.id))), stored)
  })

  it('are stored with a warning if unusual, and rejected if impossible', async () => {
    const { warnings } = await store('bloodpressure', { ...pressure, systolic: 255 })
    assert.deepEqual(
      warnings.map(({ path, code }: { path: string; code: string }) => `${path} ${code}`),
      ['systolic unusual'],
    )
    const pulse = await store('bloodpressure', { ...pressure, heartRate: 190 })
    assert.deepEqual(pulse.warnings, [
      { path: 'heartRate', code: 'unusual', message: 'lies outside of 40 to 180 /min' },
    ])
    const faulty = { ...pressure, systolic: 20, diastolicUnit: 'C', carePlanId, timestamp }
    const answer = await patient.call('POST', pathOf('bloodpressure'), faulty)
    assertProblem(answer, 422, 'rule-violated')
    assert.deepEqual(
      answer.body.errors.map(({ path }: { path: string }) => path),
      ['body.systolic', 'body.diastolicUnit'],
    )
    const { diastolic: _, ...half } = pressure
    assertProblem(
      await patient.call('POST', pathOf('bloodpressure'), { ...half, carePlanId, timestamp }),
      400,
      'invalid-input',
    )
  })

  it('are rejected with the limits and choices as fields, also in a batch and in thresholds', async () => {
    const faulty = { ...pressure, systolic: 20, diastolicUnit: 'C', carePlanId, timestamp }
    const { errors } = assertStatus(await patient.call('POST', pathOf('bloodpressure'), faulty), 422)
    const [range, unit] = errors
    assert.deepEqual(range, {
      path: 'body.systolic',
      code: 'range',
      message: 'systolic must be from 40 to 300 mm[Hg].',
      minimum: 40,
      maximum: 300,
      unit: 'mm[Hg]',
    })
    assert.equal(unit.message, `diastolicUnit must be one of ${unit.choices.join(', ')}.`)
    const items = [{ kind: 'bloodpressure', ...faulty }]
    const batch = assertStatus(await patient.call('POST', 'procedure/batch', { items }))
    assert.deepEqual(batch.items[0].errors, [
      { ...range, path: 'body.items.0.systolic' },
      { ...unit, path: 'body.items.0.diastolicUnit' },
    ])
    const limits = { bloodglucose: { unit: 'mg/dL', bloodGlucoseHigh: 5000 } }
    const thresholds = await patient.call('PUT', `careplan/${carePlanId}/thresholds`, limits)
    const [{ message, minimum, maximum }] = assertStatus(thresholds, 422).errors
    assert.equal(message, `bloodglucose.bloodGlucoseHigh must be from ${minimum} to ${maximum} mg/dL.`)
    const { errors: ofQuery } = assertStatus(
      await patient.call('GET', `${pathOf('bloodpressure')}?limit=0`),
      400,
    )
    assert.equal(ofQuery[0].minimum, 1)
  })

  it('are rejected if units, values or times were mixed up', async () => {
    const places = async (kind: string, body: object) => {
      const answer = await patient.call('POST', pathOf(kind), { carePlanId, timestamp, ...body })
      assert.ok(answer.status === 400 || answer.status === 422, JSON.stringify(answer.body))
      return answer.body.errors.map(({ path, code }: { path: string; code: string }) => `${path} ${code}`)
    }
    const kPaAsMmHg = { ...pressure, systolic: 16, diastolic: 10.5 }
    assert.deepEqual(await places('bloodpressure', kPaAsMmHg), [
      'body.systolic range',
      'body.diastolic range',
    ])
    const turned = { ...pressure, systolic: 82, diastolic: 128 }
    assert.deepEqual(await places('bloodpressure', turned), ['body.diastolic order'])
    const swapped = { weight: 72.5, weightUnit: 'cm', height: 178, heightUnit: 'kg' }
    assert.deepEqual(await places('bmi', swapped), ['body.weightUnit unit', 'body.heightUnit unit'])
    const metres = { weight: 72.5, weightUnit: 'kg', height: 178, heightUnit: 'm' }
    assert.equal((await places('bmi', metres))[0], 'body.height range')
    const beyond = { ...pressure, systolic: -5, diastolic: 0, heartRate: 15 }
    assert.deepEqual(await places('bloodpressure', beyond), [
      'body.systolic range',
      'body.diastolic range',
      'body.diastolic order',
      'body.heartRate range',
    ])
    const { systolicUnit: _, ...rest } = pressure
    const invalid = {
      ...rest,
      diastolic: 900,
      position: 'hanging',
      timestamp: '1899-01-01T00:00:00Z',
      colour: 1,
    }
    assert.deepEqual(await places('bloodpressure', invalid), [
      'body.systolicUnit required',
      'body.colour unknown',
      'body.position enum',
      'body.timestamp range',
      'body.diastolic range',
    ])
    const half = { weight: 7000, weightUnit: 'kg', height: '178', age: 'old' }
    assert.deepEqual(await places('bmi', half), [
      'body.height type',
      'body.age type',
      'body.heightUnit required',
      'body.weight range',
    ])
    const cold = { temperature: -5, temperatureUnit: 'C' }
    assert.deepEqual(await places('bodytemperature', cold), ['body.temperature range'])
    const fever = { temperature: 98.6, temperatureUnit: 'C' }
    assert.deepEqual(await places('bodytemperature', fever), ['body.temperature range'])
    const at25 = new Date(Date.now() + 25 * 3_600_000).toISOString()
    for (const [timestamp, code] of [
      [at25, 'range'],
      ['1899-12-31T23:59:59.999Z', 'range'],
      ['2026-03-01T08:30:00', 'format'],
      ['2016-12-31T23:59:60Z', 'format'],
    ])
      assert.deepEqual(await places('bloodpressure', { ...pressure, timestamp }), [`body.timestamp ${code}`])
    const soon = new Date(Date.now() + 23 * 3_600_000).toISOString()
    await store('bloodpressure', { ...pressure, timestamp: soon })
    await store('bloodpressure', { ...pressure, timestamp: '1900-01-01T01:00:00+01:00' })
  })

  it('contain derived fields', async () => {
    const { bmi, category, method } = await store('bmi', {
      weight: 72.5,
      weightUnit: 'kg',
      height: 1.78,
      heightUnit: 'm',
      age: 44,
    })
    assert.deepEqual([bmi, category, method], [22.9, 'normal', 'calculated'])
    const device = await store('bmi', { bmi: 31.26 })
    assert.deepEqual([device.bmi, device.category, device.method], [31.26, 'obese-1', 'device'])
    for (const [temperature, temperatureUnit, celsius, band] of [
      [98.6, 'F', 37, 'normal'],
      [37.5, 'Cel', 37.5, 'elevated'],
      [40.9, 'C', 40.9, 'fever'],
      [41, 'Cel', 41, 'very-high'],
      [34.9, 'Cel', 34.9, 'low'],
    ]) {
      const stored = await store('bodytemperature', { temperature, temperatureUnit })
      assert.deepEqual([stored.temperatureCel, stored.band], [celsius, band])
    }
    const glucose = await store('bloodglucose', { bloodGlucose: 99, bloodGlucoseUnit: 'mg/dL' })
    assert.equal(glucose.bloodGlucoseMmolL, 5.4951)
    assert.equal((await store('heartrate', { heartRate: 72, heartRateUnit: 'bpm' })).heartRatePerMin, 72)
    assert.equal((await store('bodyweight', { weight: 160, weightUnit: 'lb' })).weightKg, 72.5748)
    const { warnings } = await store('oxygensaturation', { oxygenSaturation: 85, oxygenSaturationUnit: '%' })
    assert.equal(warnings.length, 1)
  })

  it('are corrected: the history keeps the former value, and fields are derived again', async () => {
    const stored = await store('bloodpressure', { ...pressure, systolic: 255 })
    const path = pathOf('bloodpressure', stored.id)
    const right = { ...pressure, timestamp }
    const answer = await patient.call('PUT', path, right, { 'if-match': '"1"' })
    const corrected = assertStatus(answer)
    assert.deepEqual([answer.etag, corrected.systolic, corrected.warnings], ['"2"', 128, []])
    assert.equal(corrected.carePlanId, carePlanId)
    assertProblem(await patient.call('PUT', path, right, { 'if-match': '"1"' }), 412, 'precondition-failed')
    const [last] = assertStatus(await patient.call('GET', `${path}/history`)).items
    assert.deepEqual([last.version, last.before.systolic, last.before.warnings.length], [2, 255, 1])
    assert.equal(assertStatus(await patient.call('POST', `${path}/restore`, { version: 1 })).systolic, 255)
    assertStatus(await patient.call('DELETE', path), 204)
    assertProblem(await patient.call('GET', path), 404, 'not-found')
  })

  it('are listed by time, the newest first, by plan and within a period', async () => {
    const other = await createPlan(patient)
    for (const day of ['01', '02', '03']) {
      const body = { weight: 70, weightUnit: 'kg', carePlanId: other, timestamp: `2026-04-${day}T08:00:00Z` }
      assertStatus(await patient.call('POST', pathOf('bodyweight'), body), 201)
    }
    const days = async (query: string) => {
      const { items } = assertStatus(await patient.call('GET', `${pathOf('bodyweight')}?${query}`))
      return items.map(({ timestamp }: { timestamp: string }) => timestamp.slice(8, 10))
    }
    assert.deepEqual(await days(`carePlanId=${other}`), ['03', '02', '01'])
    assert.deepEqual(await days(`carePlanId=${other}&from=2026-04-02T08:00:00Z&to=2026-04-03T08:00:00Z`), [
      '02',
    ])
    assert.deepEqual(await days('from=2026-04-01T00:00:00Z&limit=2'), ['03', '02'])
    assert.deepEqual(await days(`carePlanId=${other}&from=2026-04-01&to=2026-04-03`), ['02', '01'])
    assertProblem(
      await patient.call('GET', `${pathOf('bodyweight')}?carePlanId=doesNotExist`),
      404,
      'not-found',
    )
    const turned = '?from=2026-04-03T00:00:00Z&to=2026-04-02T00:00:00Z'
    assert.deepEqual(
      assertProblemPlaces(await patient.call('GET', pathOf('bodyweight') + turned), 400, 'invalid-input'),
      ['query.to'],
    )
  })

  it('are paged from either end, back and forth', async () => {
    const ownPatient = await createPatient()
    const path = `/ehr/${ownPatient.ehrId}/procedure/heartrate`
    const plan = await createPlan(ownPatient)
    // Equal times, to test the order of ties.
    for (const heartRate of [61, 62, 63, 64, 65])
      assertStatus(
        await ownPatient.call('POST', path, {
          carePlanId: plan,
          heartRate,
          heartRateUnit: '/min',
          timestamp: `2026-04-0${Math.ceil((heartRate - 60) / 2)}T08:00:00Z`,
        }),
        201,
      )
    const ids = ({ items }: { items: { id: string }[] }) => items.map(({ id }) => id)
    const allIds = ids(assertStatus(await ownPatient.call('GET', path)))
    for (const [order, expected] of [
      ['desc', allIds],
      ['asc', allIds.toReversed()],
    ] as const) {
      const get = async (cursor: string) =>
        assertStatus(await ownPatient.call('GET', `${path}?order=${order}&limit=2&cursor=${cursor}`))
      const first = assertStatus(await ownPatient.call('GET', `${path}?order=${order}&limit=2&count=true`))
      const { next, ...page } = first.page
      assert.deepEqual(page, { limit: 2, total: 5, prev: null, order })
      const second = await get(next)
      const third = await get(second.page.next)
      assert.deepEqual([first, second, third].flatMap(ids), expected)
      assert.deepEqual([third.page.next, ids(await get(third.page.prev))], [null, ids(second)])
      const firstAgain = await get(second.page.prev)
      assert.deepEqual([ids(firstAgain), firstAgain.page.prev], [ids(first), null])
      assert.deepEqual(ids(await get(firstAgain.page.next)), ids(second))
      const other = order === 'asc' ? 'desc' : 'asc'
      for (const where of [
        `${path}?order=${other}`,
        `${path}?carePlanId=${plan}&order=${order}`,
        `${path}/x/history?`,
      ])
        assert.ok(
          [400, 404].includes((await ownPatient.call('GET', `${where}&cursor=${next}`)).status),
          where,
        )
    }
    const { headers } = await ownPatient.call(
      'GET',
      `${path}?limit=2&cursor=${(await ownPatient.call('GET', `${path}?limit=2`)).body.page.next}`,
    )
    assert.match(headers.get('link') ?? '', /rel="prev", <.*rel="next"$/)
  })

  it('are visible to those who see the plan', async () => {
    const { id } = await store('heartrate', { heartRate: 72, heartRateUnit: '/min' })
    const nurse = await createPerson()
    const stranger = await createPerson()
    await addParticipant(carePlanId, nurse, 'read')
    assert.equal(assertStatus(await nurse.call('GET', pathOf('heartrate', id))).id, id)
    const body = { carePlanId, timestamp, heartRate: 70, heartRateUnit: '/min' }
    assertProblem(await nurse.call('POST', pathOf('heartrate'), body), 403, 'forbidden')
    for (const path of [pathOf('heartrate', id), pathOf('heartrate')])
      assertProblem(await stranger.call('GET', path), 404, 'not-found')
    assertProblem(await stranger.call('POST', pathOf('heartrate'), body), 404, 'not-found')
  })

  it('are not read from other plans, for a plan or for participants of some plans', async () => {
    const plans = [await createPlan(patient), await createPlan(patient), await createPlan(patient)]
    const [seen = '', alsoSeen = ''] = plans
    for (const [i, plan] of [...plans, ...plans].entries())
      await store('heartrate', { carePlanId: plan, heartRate: 60 + i, heartRateUnit: '/min' })
    const participant = await createPerson()
    for (const plan of [seen, alsoSeen]) await addParticipant(plan, participant, 'read')
    const rates = async (path: string, who: Pick<Patient, 'call'>) => {
      let heartRates: number[] = []
      const finds = await recordCommands(async () => {
        const { items } = assertStatus(await who.call('GET', path))
        heartRates = items.map(({ heartRate }: { heartRate: number }) => heartRate).sort()
      })
      const examinedCounts = finds
        .filter(({ find }) => find === 'HeartRate')
        .map(async ({ filter, sort, limit }) => {
          const explained = await service.db.command({
            explain: { find: 'HeartRate', filter, sort, limit },
            verbosity: 'executionStats',
          })
          return explained.executionStats.totalDocsExamined
        })
      return [heartRates, (await Promise.all(examinedCounts)).reduce((sum, one) => sum + one, 0)]
    }
    const path = pathOf('heartrate')
    assert.deepEqual(await rates(path, participant), [[60, 61, 63, 64], 4])
    assert.deepEqual(await rates(`${path}?carePlanId=${alsoSeen}`, participant), [[61, 64], 2])
    assert.deepEqual(await rates(`${path}?carePlanId=${seen}`, patient), [[60, 63], 2])
    const first = assertStatus(await participant.call('GET', `${path}?limit=3`))
    const second = assertStatus(await participant.call('GET', `${path}?limit=3&count=true`))
    assert.equal(second.page.total, 4)
    const rest = assertStatus(await participant.call('GET', `${path}?limit=3&cursor=${first.page.next}`))
    const ids = [...first.items, ...rest.items].map(({ id }: { id: string }) => id)
    assert.deepEqual([new Set(ids).size, rest.page.next], [4, null])
  })

  it('cannot be added to a closed plan', async () => {
    const closed = await createPlan(patient)
    assertStatus(await patient.call('POST', `careplan/${closed}/close`, {}))
    const body = { carePlanId: closed, timestamp, heartRate: 70, heartRateUnit: '/min' }
    assertProblem(await patient.call('POST', pathOf('heartrate'), body), 422, 'rule-violated')
  })
})

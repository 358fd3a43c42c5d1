import assert from 'node:assert/strict'
import { createPlanInOwnEhr, createPressureObject } from '../../harness/care/by-class-family.ts'
import { assertError, createClassClient, parseDate } from '../../harness/clients/class-client.ts'
import { assertProblemPlaces, assertStatus } from '../../harness/clients/path-client.ts'
import { createPerson, type Person } from '../../harness/people/people.ts'

const timestamp = parseDate('2026-01-02T03:04:05.000Z')

describe('measurements', () => {
  let owner: Person
  let stranger: Person
  let ehrId: string
  let carePlanId: string

  before(async () => {
    ;[owner, stranger] = await Promise.all([createPerson(), createPerson()])
    ;({ ehrId, carePlanId } = await createPlanInOwnEhr(owner))
  })

  describe('BloodPressure', () => {
    it('is stored unchanged, with the EHR of its plan', async () => {
      const pressure = createPressureObject(carePlanId, {
        systolic: 17.1,
        systolicUnit: 'kPa',
        diastolic: 85,
        diastolicUnit: 'mmHg',
        heartRate: 72,
        position: 'sitting',
        location: 'left-arm',
        cuffSize: 'adult',
        method: 'oscillometric',
        deviceId: 'device-1',
        comment: 'After coffee',
        source: 'sensed',
      })
      const { body } = await createClassClient(owner).post('BloodPressure', pressure).expect(201)
      for (const [name, value] of Object.entries(pressure)) assert.deepEqual(body[name], value)
      assert.deepEqual([body.ehrId, body.version], [ehrId, 1])
      assert.deepEqual((await createClassClient(owner).get('BloodPressure', body.objectId)).body, body)
    })

    it('reports all missing fields in one message', async () => {
      const { post } = createClassClient(owner)
      assertError(
        await post('BloodPressure', { carePlanId, systolic: 120, timestamp: null }),
        141,
        'Missing required properties: systolicUnit, timestamp',
      )
      assertError(
        await post('BloodPressure', createPressureObject(carePlanId, { diastolic: 80 })),
        141,
        /: diastolicUnit$/,
      )
    })

    it('reports every violation with its path', async () => {
      const faulty = createPressureObject(carePlanId, {
        systolic: 500,
        diastolic: '80',
        diastolicUnit: 'bar',
        heartRate: -1,
        position: 'hanging',
        colour: 'red',
      })
      const answer = await createClassClient(owner).post('BloodPressure', faulty)
      assertError(answer, 142)
      for (const path of ['systolic', 'diastolic', 'diastolicUnit', 'heartRate', 'position', 'colour'])
        assert.match(answer.body.error, new RegExp(`(^|; )${path} `), path)
    })

    it('accepts a systolic pressure alone, which a PUT of the path family keeps', async () => {
      const alone = createPressureObject(carePlanId, { systolic: 128 })
      const { objectId } = (await createClassClient(owner).post('BloodPressure', alone).expect(201)).body
      const path = `/ehr/${ehrId}/procedure/bloodpressure/${objectId}`
      const before = assertStatus(await owner.call('GET', path))
      const after = assertStatus(await owner.call('PUT', path, { ...before, comment: 'By Doppler' }))
      assert.deepEqual([after.systolic, after.diastolic, after.comment], [128, null, 'By Doppler'])
      const { diastolic: _, ...half } = after
      assertProblemPlaces(await owner.call('PUT', path, half), 400, 'invalid-input')
    })

    it('rejects a diastolic pressure that is not below the systolic one', async () => {
      const { post } = createClassClient(owner)
      const values = { systolic: 120, diastolic: 16.1, diastolicUnit: 'kPa' }
      assertError(
        await post('BloodPressure', createPressureObject(carePlanId, values)),
        142,
        'diastolic must be below systolic',
      )
    })

    it('accepts only the ehrId of its plan', async () => {
      const { post } = createClassClient(owner)
      await post('BloodPressure', createPressureObject(carePlanId, { ehrId })).expect(201)
      assertError(await post('BloodPressure', createPressureObject(carePlanId, { ehrId: 'other' })), 101)
      assertError(
        await createClassClient(stranger).post('BloodPressure', createPressureObject(carePlanId)),
        101,
      )
    })

    it('stays valid after updates', async () => {
      const pressure = createPressureObject(carePlanId, { diastolic: 80, diastolicUnit: 'mm[Hg]' })
      const { objectId } = (await createClassClient(owner).post('BloodPressure', pressure).expect(201)).body
      const { put } = createClassClient(owner)
      assertError(
        await put('BloodPressure', objectId, { systolic: 70 }),
        142,
        'diastolic must be below systolic',
      )
      assertError(await put('BloodPressure', objectId, { diastolicUnit: null }), 141, /: diastolicUnit$/)
      assertError(await put('BloodPressure', objectId, { carePlanId: 'x' }), 142, /carePlanId/)
      assert.equal(
        (await put('BloodPressure', objectId, { systolic: { __op: 'Increment', amount: 'x' } })).status,
        400,
      )
      const { body } = await put('BloodPressure', objectId, { systolic: 130, comment: 'Corrected' }).expect(
        200,
      )
      assert.deepEqual([body.systolic, body.comment, body.diastolic, body.version], [130, 'Corrected', 80, 2])
      const without = await put('BloodPressure', objectId, { diastolic: null, diastolicUnit: null }).expect(
        200,
      )
      assert.equal(without.body.diastolic, undefined)
    })

    it('stays valid after two concurrent updates', async () => {
      const pressure = createPressureObject(carePlanId, {
        systolic: 120,
        diastolic: 80,
        diastolicUnit: 'mm[Hg]',
      })
      const { objectId } = (await createClassClient(owner).post('BloodPressure', pressure).expect(201)).body
      for (let round = 0; round < 5; round++) {
        await Promise.all([
          createClassClient(owner).put('BloodPressure', objectId, { systolic: 90 }),
          createClassClient(owner).put('BloodPressure', objectId, { diastolic: 100 }),
          createClassClient(owner).put('BloodPressure', objectId, { systolic: 120, diastolic: 80 }),
        ])
        const { body } = await createClassClient(owner).get('BloodPressure', objectId).expect(200)
        assert.ok(body.diastolic < body.systolic, `${body.systolic}/${body.diastolic}`)
      }
    })

    it('is found by time and plan', async () => {
      const { carePlanId: own } = await createPlanInOwnEhr(owner)
      for (const day of ['01', '02', '03'])
        await createClassClient(owner)
          .post(
            'BloodPressure',
            createPressureObject(own, { timestamp: parseDate(`2026-02-${day}T00:00:00.000Z`) }),
          )
          .expect(201)
      const where = { carePlanId: own, timestamp: { $gte: parseDate('2026-02-02T00:00:00.000Z') } }
      const { body } = await createClassClient(owner)
        .list('BloodPressure', where)
        .query({ order: '-timestamp' })
        .expect(200)
      assert.deepEqual(
        body.results.map((one: { timestamp: { iso: string } }) => one.timestamp.iso.slice(0, 10)),
        ['2026-02-03', '2026-02-02'],
      )
    })

    it('answers unusual input with a code', async () => {
      const odd: Record<string, unknown>[] = [
        { timestamp: parseDate('+275760-09-13T00:00:00.000Z') },
        { timestamp: parseDate('2026-13-45T00:00:00.000Z') },
        { timestamp: '2026-01-02' },
        { timestamp: { __type: 'Date', iso: 5 } },
        { systolic: { $gt: 1 } },
        { systolic: [120] },
        { comment: { __op: 'Add', objects: [1] } },
        { 'systolic.value': 1 },
        { 'bad-name': 1 },
        { _rperm: ['*'] },
        { objectId: 'abc' },
        { carePlanId: `${carePlanId}\u0000` },
        { carePlanId: 'x'.repeat(10_000) },
      ]
      for (const values of odd) {
        const { status, body } = await createClassClient(owner).post(
          'BloodPressure',
          createPressureObject(carePlanId, values),
        )
        assert.ok([400, 404].includes(status), `${JSON.stringify(values).slice(0, 80)} -> ${status}`)
        assert.deepEqual([typeof body.code, typeof body.error], ['number', 'string'])
      }
    })

    it('explains the format of times if one is invalid', async () => {
      for (const iso of ['2026-03-01T08:30:00', '2026-02-30', 5])
        assertError(
          await createClassClient(owner).post(
            'BloodPressure',
            createPressureObject(carePlanId, { timestamp: { __type: 'Date', iso } }),
          ),
          107,
          /time with an offset, such as 2026-03-01T08:30:00.000\+01:00/,
        )
    })

    it('refuses numbers that JSON cannot represent', async () => {
      const text = JSON.stringify(createPressureObject(carePlanId)).replace('128', '1e400')
      const { status } = await createClassClient(owner)
        .post('BloodPressure', {})
        .set('Content-Type', 'application/json')
        .send(text)
      assert.equal(status, 400)
    })
  })

  describe('BodyMassIndex', () => {
    const body = { weight: 70, weightUnit: 'kg', height: 175, heightUnit: 'cm' }

    it('is calculated from weight and height, again on update', async () => {
      const created = await createClassClient(owner)
        .post('BodyMassIndex', { carePlanId, timestamp, ...body })
        .expect(201)
      assert.equal(created.body.bmi, 22.9)
      const { objectId } = created.body
      const updated = await createClassClient(owner)
        .put('BodyMassIndex', objectId, { weight: 154, weightUnit: 'lb' })
        .expect(200)
      assert.equal(updated.body.bmi, 22.8)
      assert.equal((await createClassClient(owner).get('BodyMassIndex', objectId)).body.bmi, 22.8)
      assertError(await createClassClient(owner).put('BodyMassIndex', objectId, { bmi: 30 }), 142, /^bmi /)
    })

    it('is accepted from a device that provides nothing else', async () => {
      const { body: device } = await createClassClient(owner)
        .post('BodyMassIndex', { carePlanId, timestamp, bmi: 24.5 })
        .expect(201)
      assert.deepEqual([device.bmi, device.weight], [24.5, undefined])
      assertError(
        await createClassClient(owner).post('BodyMassIndex', { carePlanId, timestamp, bmi: 300 }),
        142,
        /^bmi /,
      )
    })

    it('reports missing fields', async () => {
      const { post } = createClassClient(owner)
      assertError(
        await post('BodyMassIndex', {}),
        141,
        'Missing required properties: carePlanId, height, heightUnit, timestamp, weight, weightUnit',
      )
    })
  })

  describe('BodyTemperature', () => {
    it('is stored unchanged', async () => {
      const temperature = {
        carePlanId,
        timestamp,
        temperature: 98.6,
        temperatureUnit: '[degF]',
        location: 'ear',
        basal: false,
      }
      const { body } = await createClassClient(owner).post('BodyTemperature', temperature).expect(201)
      for (const [name, value] of Object.entries(temperature)) assert.deepEqual(body[name], value)
    })

    it('rejects temperatures that no body has', async () => {
      const temperature = { carePlanId, timestamp, temperature: 98.6, temperatureUnit: 'Cel' }
      assertError(
        await createClassClient(owner).post('BodyTemperature', temperature),
        142,
        'temperature must be from 20 to 46 Cel',
      )
    })

    it('reports missing fields', async () => {
      assertError(
        await createClassClient(owner).post('BodyTemperature', { carePlanId }),
        141,
        'Missing required properties: temperature, temperatureUnit, timestamp',
      )
    })
  })

  it('can be deleted by their owners', async () => {
    const { objectId } = (
      await createClassClient(owner).post('BloodPressure', createPressureObject(carePlanId)).expect(201)
    ).body
    assertError(await createClassClient(stranger).delete('BloodPressure', objectId), 101)
    await createClassClient(owner).delete('BloodPressure', objectId).expect(200)
    assertError(await createClassClient(owner).get('BloodPressure', objectId), 101)
  })
})

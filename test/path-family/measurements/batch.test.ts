import assert from 'node:assert/strict'
import fc from 'fast-check'
import { MEASUREMENT_KINDS } from '../../../records/kinds.ts'
import type { MeasurementKind } from '../../../records/measurements/measurement.ts'
import {
  addParticipant,
  createPatient,
  createPlan,
  type Patient,
  readAudit,
} from '../../harness/care/patients.ts'
import { arbitraryMeasurement } from '../../harness/care/samples/arbitrary-measurements.ts'
import { createClassClient } from '../../harness/clients/class-client.ts'
import { assertProblem, assertStatus } from '../../harness/clients/path-client.ts'
import { createPerson } from '../../harness/people/people.ts'
import { recordCommands } from '../../harness/service/database-commands.ts'
import { service } from '../../harness/service/service.ts'

type Item = Record<string, unknown>

const timestamp = '2026-03-01T08:30:00.000Z'
const rate = (heartRate: number, more: Item = {}): Item => ({
  kind: 'heartrate',
  timestamp,
  deviceId: 'watch',
  heartRate,
  heartRateUnit: '/min',
  ...more,
})
const statuses = ({ items }: { items: { status: string }[] }) => items.map(({ status }) => status)

describe('a batch of measurements', () => {
  let patient: Patient
  let carePlanId: string
  before(async () => {
    patient = await createPatient()
    carePlanId = await createPlan(patient)
  })

  const send = (items: unknown[], headers: Record<string, string> = {}, who = patient) =>
    who.call('POST', `/ehr/${patient.ehrId}/procedure/batch`, { items }, headers)
  const inPlan = (items: Item[]) => items.map((item) => ({ carePlanId, ...item }))

  const oneOfEach = fc.tuple(...MEASUREMENT_KINDS.map(arbitraryMeasurement))
  it('stores each kind like its own operation: same record, history and audit', () =>
    fc.assert(fc.asyncProperty(oneOfEach, storedLikeAlone), { numRuns: 1, endOnFailure: true }))

  async function storedLikeAlone(bodies: Item[]): Promise<void> {
    const since = new Date()
    const batch = bodies.map((body, i) => ({ kind: MEASUREMENT_KINDS[i] as MeasurementKind, body }))
    const items = inPlan(batch.map(({ kind, body }) => ({ ...body, kind: kind.path })))
    const answer = assertStatus(await send(items))
    assert.deepEqual([answer.stored, answer.known, answer.refused], [items.length, 0, 0])
    const created = (await readAudit(patient.ehrId, since)).filter((entry) => entry.startsWith('create'))
    assert.deepEqual(created.sort(), MEASUREMENT_KINDS.map(({ name }) => `create ${name} done`).sort())
    for (const [i, { kind, body }] of batch.entries()) {
      const { id, href, warnings } = answer.items[i]
      const record = assertStatus(await patient.call('GET', href))
      const path = `/ehr/${patient.ehrId}/procedure/${kind.path}`
      const alone = assertStatus(await patient.call('POST', path, { ...body, carePlanId }), 201)
      const ownFields = ['id', 'compositionId', 'links', 'createdAt', 'updatedAt']
      const values = (record: Item) => Object.entries(record).filter(([name]) => !ownFields.includes(name))
      assert.deepEqual(values(record), values(alone))
      assert.deepEqual([record.id, record.warnings], [id, warnings])
      assert.equal(assertStatus(await patient.call('GET', `${href}/history`)).items[0].action, 'create')
      const object = await createClassClient(patient).get(kind.name, id).expect(200)
      assert.equal(object.body.carePlanId, carePlanId)
    }
  }

  it('answers each item separately, with all of its violations', async () => {
    const other = await createPatient()
    const closed = await createPlan(patient)
    assertStatus(await patient.call('POST', `careplan/${closed}/close`, {}))
    const answer = assertStatus(
      await send([
        ...inPlan([
          rate(61),
          rate(1000, { heartRateUnit: 'C', timestamp: '1899-12-31T23:59:59Z' }),
          rate(62, { kind: 'pulse' }),
          rate(62, { kind: ['heartrate'] }),
          rate(63, { timestamp: '2026-03-01T08:30:00', surprise: 1 }),
          rate(230),
          {
            kind: 'bloodpressure',
            timestamp,
            systolic: 80,
            systolicUnit: 'mmHg',
            diastolic: 120,
            diastolicUnit: 'mmHg',
          },
        ]),
        rate(64, { carePlanId: closed }),
        rate(65, { carePlanId: await createPlan(other) }),
        rate(66, { carePlanId, ehrId: other.ehrId }),
        {},
        null,
        5,
        'heartrate',
        [rate(66)],
      ] as object[]),
    )
    const outcomes = answer.items.map(
      ({ status, code, errors }: { status: string; code: string; errors: Item[] }) =>
        [status, code, ...errors.map(({ path, code }) => `${path} ${code}`)].filter(Boolean).join(', '),
    )
    assert.deepEqual(outcomes, [
      'stored',
      'refused, rule-violated, body.items.1.timestamp range, body.items.1.heartRateUnit unit',
      'refused, invalid-input, body.items.2.kind enum',
      'refused, invalid-input, body.items.3.kind enum',
      'refused, invalid-input, body.items.4.surprise unknown, body.items.4.timestamp format',
      'stored',
      'refused, rule-violated, body.items.6.diastolic order',
      'refused, rule-violated, body.items.7.carePlanId closed',
      'refused, not-found, body.items.8.carePlanId not-found',
      'refused, invalid-input, body.items.9.ehrId unknown',
      'refused, invalid-input, body.items.10.kind required',
      ...[11, 12, 13, 14].map((i) => `refused, invalid-input, body.items.${i} type`),
    ])
    assert.equal(answer.items[5].warnings[0].code, 'unusual')
    assert.equal(
      assertStatus(await other.call('GET', `/ehr/${other.ehrId}/procedure/heartrate`)).items.length,
      0,
    )
  })

  it('is refused if no item is a measurement', async () => {
    const answer = assertStatus(await send([{ key: 'x' }, { kind: 'pulse' }]))
    assert.deepEqual([answer.stored, answer.known, answer.refused], [0, 0, 2])
  })

  it('recognises measurements stored earlier, in any way, also corrected ones', async () => {
    const ownRecords = inPlan([rate(71), rate(71), rate(71, { comment: 'sent again' }), rate(71), rate(71)])
    const firstAnswer = assertStatus(await send(ownRecords))
    assert.deepEqual(statuses(firstAnswer), ['stored', 'known', 'known', 'known', 'known'])
    assert.equal(new Set(firstAnswer.items.map(({ id }: Item) => id)).size, 1)
    const spelled = inPlan([
      rate(71, { heartRateUnit: 'bpm' }),
      rate(71, { deviceId: 'other watch' }),
      rate(72),
    ])
    assert.deepEqual(statuses(assertStatus(await send(spelled))), ['known', 'stored', 'stored'])
    const { href, id } = firstAnswer.items[0]
    const { kind: _, ...corrected } = rate(75)
    assertStatus(await patient.call('PUT', href, corrected))
    const { body } = await createClassClient(patient).put('HeartRate', id, { heartRate: 76 }).expect(200)
    assert.ok(body.updatedAt)
    assert.deepEqual(statuses(assertStatus(await send(inPlan([rate(71), rate(76)])))), ['known', 'stored'])
    const { kind: __, ...alone } = rate(77)
    assertStatus(await patient.call('POST', 'procedure/heartrate', { ...alone, carePlanId }), 201)
    await createClassClient(patient)
      .post('HeartRate', {
        ...alone,
        carePlanId,
        heartRate: 78,
        timestamp: { __type: 'Date', iso: timestamp },
      })
      .expect(201)
    assert.deepEqual(statuses(assertStatus(await send(inPlan([rate(77), rate(78)])))), ['known', 'known'])
  })

  it('creates one alert for each item beyond its plan’s thresholds', async () => {
    const ownPatient = await createPatient()
    const watched = await createPlan(ownPatient)
    const other = await createPlan(ownPatient)
    const limits = {
      heartrate: { heartRateHigh: 100, unit: '/min' },
      bodyweight: { weightLow: 60, unit: 'kg' },
    }
    assertStatus(await ownPatient.call('PUT', `careplan/${watched}/thresholds`, limits))
    const weight = { kind: 'bodyweight', timestamp, weight: 55, weightUnit: 'kg', carePlanId: watched }
    const items = [
      ...[99, 101, 101, 1000, 102].map((heartRate) => ({ ...rate(heartRate), carePlanId: watched })),
      { ...rate(103), carePlanId: other },
      weight,
    ]
    const sendBatch = () => ownPatient.call('POST', `/ehr/${ownPatient.ehrId}/procedure/batch`, { items })
    const firstAnswer = assertStatus(await sendBatch())
    assert.deepEqual(statuses(firstAnswer), [
      'stored',
      'stored',
      'known',
      'refused',
      'stored',
      'stored',
      'stored',
    ])
    const alerts = async () =>
      assertStatus(
        await ownPatient.call('GET', `/med/${ownPatient.ehrId}/event?type=measurement-alert`),
      ).items.map(({ id, carePlanId, data }: Item) => [id, carePlanId, (data as Item).kind])
    const expected = [
      [firstAnswer.items[1].id, watched, 'heartrate'],
      [firstAnswer.items[4].id, watched, 'heartrate'],
      [firstAnswer.items[6].id, watched, 'bodyweight'],
    ]
    assert.deepEqual((await alerts()).sort(), expected.sort())
    assert.equal(assertStatus(await sendBatch()).known, 6)
    assert.equal((await alerts()).length, 3)
  })

  it('stores concurrent duplicates once, and repeated requests, too', async () => {
    const items = inPlan(Array.from({ length: 20 }, (_, i) => rate(81 + i)))
    const answers = await Promise.all(Array.from({ length: 6 }, () => send(items)))
    assert.equal(
      answers.reduce((sum, answer) => sum + assertStatus(answer).stored, 0),
      items.length,
    )
    const key = { 'idempotency-key': `batch-${patient.ehrId}` }
    const once = [{ ...rate(120), carePlanId }]
    const firstAnswer = assertStatus(await send(once, key))
    assert.deepEqual(assertStatus(await send(once, key)), firstAnswer)
    assert.equal(firstAnswer.stored, 1)
    assertProblem(await send([{ ...rate(121), carePlanId }], key), 422, 'idempotency-key-reused')
  })

  it('shares one write with concurrent batches of the same EHR', async () => {
    const batches = Array.from({ length: 5 }, (_, i) => inPlan([rate(150 + i)]))
    const commands = await recordCommands(async () => {
      for (const answer of await Promise.all(batches.map((items) => send(items))))
        assert.deepEqual(statuses(assertStatus(answer)), ['stored'])
    })
    // Each attempt begins with a read of the plan.
    assert.equal(commands.filter(({ find }) => find === 'CarePlan').length, batches.length)
  })

  it('requires write access to the plans, and accepts 1 to 1,000 items', async () => {
    const reader = await createPerson()
    const writer = await createPerson()
    const stranger = await createPerson()
    await addParticipant(carePlanId, reader, 'read')
    await addParticipant(carePlanId, writer, 'write')
    const items = inPlan([rate(131)])
    assertProblem(await send(items, {}, stranger as Patient), 404, 'not-found')
    assertProblem(await send([{}], {}, stranger as Patient), 404, 'not-found')
    assertProblem(await send(items, {}, reader as Patient), 403, 'forbidden')
    const elsewhere = { ...rate(132), carePlanId: await createPlan(patient) }
    assert.deepEqual(statuses(assertStatus(await send([...items, elsewhere], {}, writer as Patient))), [
      'stored',
      'refused',
    ])
    const many = (count: number) => send(inPlan(Array.from({ length: count }, (_, i) => rate(40 + i / 100))))
    assert.equal(assertStatus(await many(1000)).stored, 1000)
    assertProblem(await many(1001), 400, 'invalid-input')
    assertProblem(await many(0), 400, 'invalid-input')
    const storedCount = await service.db
      .collection('HeartRate')
      .countDocuments({ carePlanId: elsewhere.carePlanId })
    assert.equal(storedCount, 0)
  })
})

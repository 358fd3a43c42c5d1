import assert from 'node:assert/strict'
import { type ClassName, MEASUREMENT_KINDS } from '../../../records/kinds.ts'
import { byClass } from '../../family-kinds.ts'
import {
  addParticipant,
  createAlert,
  createPatient,
  createPlan,
  type Patient,
  readAudit,
} from '../../harness/care/patients.ts'
import { exampleBody, exampleObject } from '../../harness/care/samples/examples.ts'
import { parseDate } from '../../harness/clients/class-client.ts'
import { assertProblem, assertProblemPlaces, assertStatus } from '../../harness/clients/path-client.ts'
import { createPerson } from '../../harness/people/people.ts'

type Values = Record<string, unknown>

/** The writes of a family to a blood pressure of the plan: create, correct, remove. */
interface Family {
  create(carePlanId: string, values: Values): Promise<string>
  correct(id: string, values: Values): Promise<void>
  remove(id: string): Promise<void>
}

const units = { systolicUnit: 'mm[Hg]', diastolicUnit: 'mm[Hg]' }
const timestamp = '2026-03-01T08:30:00.000Z'

const byPath = (patient: Patient): Family => ({
  create: async (carePlanId, values) =>
    assertStatus(
      await patient.call('POST', 'procedure/bloodpressure', { carePlanId, timestamp, ...units, ...values }),
      201,
    ).id,
  correct: async (id, values) =>
    void assertStatus(
      await patient.call('PUT', `procedure/bloodpressure/${id}`, { timestamp, ...units, ...values }),
    ),
  remove: async (id) =>
    assert.equal((await patient.call('DELETE', `procedure/bloodpressure/${id}`)).status, 204),
})

const byObject = (patient: Patient): Family => {
  const classes = byClass(patient)
  return {
    create: async (carePlanId, values) => {
      const object = { carePlanId, timestamp: parseDate(timestamp), ...units, ...values }
      const { body, status } = await classes.post('BloodPressure', object)
      assert.equal(status, 201, JSON.stringify(body))
      return body.objectId
    },
    correct: async (id, values) => {
      const { body, status } = await classes.put('BloodPressure', id, values)
      assert.equal(status, 200, JSON.stringify(body))
    },
    remove: async (id) => assert.equal((await classes.delete('BloodPressure', id)).status, 200),
  }
}

const normal = { systolic: 118, diastolic: 76 }
const high = { systolic: 185, diastolic: 112 }
const raised = { systolic: 145, diastolic: 92 }

const alertsOf = async (who: Patient, ehrId = who.ehrId): Promise<Values[]> =>
  assertStatus(await who.call('GET', `/med/${ehrId}/event?type=measurement-alert`)).items

const thresholdsOf = (planId: string) => `careplan/${planId}/thresholds`

describe('thresholds of a care plan', () => {
  let patient: Patient
  let planId: string
  before(async () => {
    patient = await createPatient()
    planId = await createPlan(patient)
  })

  it('are empty, then saved as a whole, with version, history and audit', async () => {
    const none = await patient.call('GET', thresholdsOf(planId))
    assert.deepEqual([assertStatus(none), none.etag], [{}, '"0"'])
    const thresholds = {
      bloodpressure: 'esc2018',
      bodytemperature: { temperatureLow: 95.9, temperatureHigh: 100.4, unit: '[degF]' },
      heartrate: {
        name: 'mine',
        unit: '/min',
        bands: [{ code: 'fast', label: 'Fast', severity: 1, heartRate: { gte: 120 } }],
      },
    }
    const answer = await patient.call('PUT', thresholdsOf(planId), thresholds, { 'if-match': '"0"' })
    assert.deepEqual([assertStatus(answer), answer.etag], [thresholds, '"1"'])
    assert.deepEqual(assertStatus(await patient.call('GET', thresholdsOf(planId))), thresholds)
    assertProblem(
      await patient.call('PUT', thresholdsOf(planId), {}, { 'if-match': '"0"' }),
      412,
      'precondition-failed',
    )
    const audit = await readAudit(patient.ehrId)
    assert.ok(audit.includes('create plan.thresholds done'), audit.join())
  })

  it('are written by writers of the plan, read by its readers, and hidden from others', async () => {
    const [reader, writer, stranger] = await Promise.all([createPerson(), createPerson(), createPerson()])
    await addParticipant(planId, reader, 'read')
    await addParticipant(planId, writer, 'write')
    const path = `/ehr/${patient.ehrId}/${thresholdsOf(planId)}`
    assertStatus(await reader.call('GET', path))
    assertProblem(await reader.call('PUT', path, {}), 403, 'forbidden')
    assertStatus(await writer.call('PUT', path, { bmi: 'who' }))
    assertProblem(await stranger.call('GET', path), 404, 'not-found')
    assertProblem(await stranger.call('PUT', path, {}), 404, 'not-found')
  })

  it('are refused if they contradict each other, each fault with its path', async () => {
    const band = { code: 'a', label: 'A', severity: 1, combine: 'any', systolic: { gte: 100 } }
    const set = (...bands: object[]) => ({ name: 'x', unit: 'mmHg', bands })
    const paths = async (body: object): Promise<string[]> => {
      const answer = await patient.call('PUT', thresholdsOf(planId), body)
      assert.ok([400, 422].includes(answer.status), JSON.stringify(answer.body))
      return answer.body.errors.map(({ path }: { path: string }) => path)
    }
    assert.deepEqual(await paths({ shoeSize: 'esc2018' }), ['body.shoeSize'])
    assert.deepEqual(await paths({ bloodpressure: 'who1999', bmi: 'fever' }), [
      'body.bloodpressure',
      'body.bmi',
    ])
    assert.deepEqual(await paths({ bloodpressure: set() }), ['body.bloodpressure.bands'])
    const inWrongUnit = { systolicLow: 90, systolicHigh: 140, diastolicLow: 0, unit: 'kPa' }
    const kPaAsMmHg = { systolicLow: 12, unit: 'mmHg' }
    assert.deepEqual(await paths({ bloodpressure: inWrongUnit }), [
      'body.bloodpressure.systolicLow',
      'body.bloodpressure.systolicHigh',
    ])
    assert.deepEqual(await paths({ bloodpressure: kPaAsMmHg }), ['body.bloodpressure.systolicLow'])
    for (const [path, limits] of [
      ['systolicHigh', { systolicHigh: 18, unit: 'mmHg' }],
      ['systolicHigh', { systolicHigh: 0, unit: 'mmHg' }],
      ['systolicLow', { systolicLow: 400, unit: 'mmHg' }],
      ['diastolicHigh', { diastolicHigh: 1, unit: 'kPa' }],
    ] as const)
      assert.deepEqual(await paths({ bloodpressure: limits }), [`body.bloodpressure.${path}`])
    const celsiusAsKelvin = { temperatureHigh: 40, unit: 'K' }
    assert.deepEqual(await paths({ bodytemperature: celsiusAsKelvin }), [
      'body.bodytemperature.temperatureHigh',
    ])
    const beyond = { ...set({ ...band, systolic: { gt: 140 } }), unit: 'kPa' }
    assert.deepEqual(await paths({ bloodpressure: beyond }), ['body.bloodpressure.bands.0.systolic'])
    assert.deepEqual(
      await paths({
        bloodpressure: set(
          band,
          { ...band, code: 'b' },
          { ...band, severity: 2, systolic: { gt: 9, lt: 9 } },
        ),
        bodyweight: { weightLow: 80, weightHigh: 70, unit: 'stone' },
      }),
      [
        'body.bloodpressure.bands.1.severity',
        'body.bloodpressure.bands.2.code',
        'body.bloodpressure.bands.2.systolic',
        'body.bodyweight.unit',
        'body.bodyweight.weightHigh',
      ],
    )
    assert.deepEqual(await paths({ bodyweight: { unit: 'kg', heightLow: 3 } }), ['body.bodyweight.heightLow'])
  })

  it('report all faults at once: of the schema, and of rules on valid parts', async () => {
    const band = { code: 'a', label: 'A', severity: 1, combine: 'any', systolic: { gte: 100 } }
    const faulty = {
      bloodpressure: {
        name: 'x',
        unit: 'stone',
        bands: [{ ...band, label: 5 }, band, { ...band, severity: 2 }, { code: 'c' }],
      },
      bodyweight: { weightLow: '60', heightLow: 3, unit: 'stone' },
    }
    const rules = ['bloodpressure.unit', 'bloodpressure.bands.2.code', 'bodyweight.unit']
    const shapes = ['bloodpressure.bands.0.label', 'bodyweight.heightLow', 'bodyweight.weightLow']
    const ofLast = ['combine', 'label', 'severity'].map((name) => `bloodpressure.bands.3.${name}`)
    const violatingPaths = [...rules, ...shapes, ...ofLast].map((path) => `body.${path}`).sort()
    const places = async (body: object, status: number, code: string) =>
      assertProblemPlaces(await patient.call('PUT', thresholdsOf(planId), body), status, code).sort()
    assert.deepEqual(await places(faulty, 422, 'rule-violated'), violatingPaths)
    const unreadable = { ...faulty, bmi: 5, shoeSize: {} }
    const added = ['body.bmi', 'body.shoeSize']
    assert.deepEqual(await places(unreadable, 400, 'invalid-input'), [...violatingPaths, ...added].sort())
  })
})

for (const [family, familyOf] of [
  ['path', byPath],
  ['class', byObject],
] as const)
  describe(`an alert, by the ${family} family`, () => {
    let patient: Patient
    let planId: string
    let pressures: Family
    before(async () => {
      patient = await createPatient()
      pressures = familyOf(patient)
    })
    beforeEach(async () => {
      planId = await createPlan(patient)
      assertStatus(await patient.call('PUT', thresholdsOf(planId), { bloodpressure: 'esc2018' }))
    })
    const alertsInPlan = async () =>
      (await alertsOf(patient)).filter(({ carePlanId }) => carePlanId === planId)

    it('is created with a measurement beyond the thresholds, and not with others', async () => {
      await pressures.create(planId, normal)
      await pressures.create(await createPlan(patient), high)
      assert.deepEqual(await alertsInPlan(), [])
      const id = await pressures.create(planId, high)
      const [alert, ...more] = await alertsInPlan()
      assert.deepEqual(more, [])
      assert.deepEqual(
        [alert?.id, alert?.type, alert?.start, alert?.severity, alert?.version],
        [id, 'measurement-alert', timestamp, 'CRITICAL', 1],
      )
      assert.equal(alert?.title, 'Blood pressure 185/112 mmHg: Hypertension grade 3')
      assert.deepEqual(alert?.data, {
        kind: 'bloodpressure',
        measurementId: id,
        state: 'OPEN',
        values: [
          { name: 'systolic', value: 185, unit: 'mm[Hg]' },
          { name: 'diastolic', value: 112, unit: 'mm[Hg]' },
        ],
        band: { code: 'grade3', label: 'Hypertension grade 3' },
        severity: 5,
        thresholds: 'esc2018',
      })
    })

    it('follows its measurement: corrected, back in range, out of range again, deleted', async () => {
      const id = await pressures.create(planId, normal)
      const state = async () => {
        const alerts = await alertsInPlan()
        return alerts.map(({ data, severity, version }) => [(data as Values).state, severity, version])
      }
      await pressures.correct(id, raised)
      assert.deepEqual(await state(), [['OPEN', 'MODERATE', 1]])
      await pressures.correct(id, { ...raised, comment: 'After coffee' })
      assert.deepEqual(await state(), [['OPEN', 'MODERATE', 1]])
      await pressures.correct(id, high)
      assert.deepEqual(await state(), [['OPEN', 'CRITICAL', 2]])
      await pressures.correct(id, normal)
      assert.deepEqual(await state(), [['CORRECTED', 'CRITICAL', 3]])
      await pressures.correct(id, raised)
      assert.deepEqual(await state(), [['OPEN', 'MODERATE', 4]])
      const changes = assertStatus(
        await patient.call('GET', `/med/${patient.ehrId}/event/${id}/history`),
      ).items
      assert.deepEqual(
        changes.map(({ version, changed }: Values) => [version, (changed as string[]).includes('data')]),
        [
          [4, true],
          [3, true],
          [2, true],
          [1, false],
        ],
      )
      await pressures.remove(id)
      assert.deepEqual(await state(), [])
      assertStatus(await patient.call('POST', `procedure/bloodpressure/${id}/restore`, { version: 6 }))
      assert.deepEqual(await state(), [['OPEN', 'MODERATE', 6]])
      const { items } = assertStatus(await patient.call('GET', `/med/${patient.ehrId}/event/${id}/history`))
      assert.deepEqual(
        items.map(({ version }: Values) => version),
        [6, 5, 4, 3, 2, 1],
      )
    })

    it('is visible to everyone who sees the plan, and only to them', async () => {
      await pressures.create(planId, high)
      const [reader, other] = await Promise.all([createPerson(), createPerson()])
      await addParticipant(planId, reader, 'read')
      await addParticipant(await createPlan(patient), other, 'read')
      const countAlerts = async (who: typeof reader) =>
        (await alertsOf(who as Patient, patient.ehrId)).filter(({ carePlanId }) => carePlanId === planId)
          .length
      assert.deepEqual([await countAlerts(reader), await countAlerts(other)], [1, 0])
    })

    it('is audited as a creation', async () => {
      const since = new Date()
      await pressures.create(planId, high)
      assert.ok((await readAudit(patient.ehrId, since)).includes('create Event done'))
    })
  })

describe('an alert', () => {
  it('can be created only by the service', async () => {
    const patient = await createPatient()
    const event = { type: 'measurement-alert', title: 'Not really', start: timestamp }
    assertProblem(await patient.call('POST', `/med/${patient.ehrId}/event`, event), 422, 'rule-violated')
    const { body } = await byClass(patient).post('Event', {
      ...event,
      start: parseDate(timestamp),
      ehrId: patient.ehrId,
    })
    assert.equal(body.code, 142)
  })

  it('keeps the fields of its measurement, and people can add to it', async () => {
    const patient = await createPatient()
    const planId = await createPlan(patient)
    assertStatus(await patient.call('PUT', thresholdsOf(planId), { bloodpressure: 'esc2018' }))
    const id = await byPath(patient).create(planId, high)
    const path = `/med/${patient.ehrId}/event/${id}`
    const { type, title, severity, data } = assertStatus(await patient.call('GET', path))
    const alert = { type, title, start: '2026-03-01T09:30:00+01:00', severity, data }
    assert.equal(
      assertStatus(await patient.call('PUT', path, { ...alert, description: 'Called' })).description,
      'Called',
    )
    const hidden = { type: 'note', title: 'All well', start: '2020-01-01T00:00:00Z' }
    const answer = await patient.call('PUT', path, { ...hidden, description: 'Called' })
    assertProblem(answer, 422, 'rule-violated')
    assert.deepEqual(
      answer.body.errors.map((error: Values) => error.path),
      ['body.type', 'body.title', 'body.start', 'body.severity', 'body.data'],
    )
    const classes = byClass(patient)
    for (const change of [
      { type: 'note' },
      { data: { values: [] } },
      { 'data.state': 'CORRECTED' },
      { severity: 'LOW' },
      { severity: { __op: 'Delete' } },
      { start: parseDate('2020-01-01T00:00:00.000Z') },
    ])
      assert.equal((await classes.put('Event', id, change)).body.code, 142, JSON.stringify(change))
    assert.equal((await classes.put('Event', id, { description: 'Called twice' })).status, 200)
    assert.deepEqual(assertStatus(await patient.call('GET', path)).data, data)
  })

  it('matches its measurement after concurrent corrections', async () => {
    const patient = await createPatient()
    const planId = await createPlan(patient)
    assertStatus(await patient.call('PUT', thresholdsOf(planId), { bloodpressure: 'esc2018' }))
    const corrections = [high, normal, raised, { comment: 'After coffee' }]
    for (let i = 0; i < 6; i++) {
      const id = await byPath(patient).create(planId, i % 2 ? raised : normal)
      await Promise.all(corrections.map((values) => byObject(patient).correct(id, values)))
      const { systolic } = assertStatus(await patient.call('GET', `procedure/bloodpressure/${id}`))
      const alert = await patient.call('GET', `/med/${patient.ehrId}/event/${id}`)
      const { state, values } = alert.body.data ?? { state: 'CORRECTED' }
      assert.equal(state, systolic < 140 ? 'CORRECTED' : 'OPEN')
      if (state === 'OPEN') assert.equal(values[0].value, systolic)
    }
  })

  it('returns with its measurement, and alone only while its measurement exists', async () => {
    const patient = await createPatient()
    const { ehrId, call } = patient
    const id = await createAlert(patient, await createPlan(patient))
    const measurement = `procedure/bloodpressure/${id}`
    const alert = `/med/${ehrId}/event/${id}`
    assertStatus(await call('DELETE', measurement), 204)
    const refusal = await call('POST', `${alert}/restore`, { version: 1 })
    assertProblem(refusal, 409, 'conflict')
    assert.match(refusal.body.detail, new RegExp(`measurement ${id}`))
    assert.ok((await readAudit(ehrId)).includes('update Event refused'))
    assertStatus(await call('POST', `${measurement}/restore`, { version: 1 }))
    assertStatus(await call('GET', alert))
    assertStatus(await call('DELETE', alert), 204)
    assertStatus(await call('POST', `${alert}/restore`, { version: 3 }))
  })

  it('is created for every kind, with the same content in both families', async () => {
    const patient = await createPatient()
    const planId = await createPlan(patient)
    const beyond = MEASUREMENT_KINDS.map(({ path, thresholdTarget: { names, unit, ranges } }) => [
      path,
      { unit, ...Object.fromEntries(names.map((name) => [`${name}Low`, ranges?.[name]?.[1]])) },
    ])
    assertStatus(await patient.call('PUT', thresholdsOf(planId), Object.fromEntries(beyond)))
    const place = { carePlanId: planId }
    const creations = MEASUREMENT_KINDS.map(async ({ path, name }) => {
      const body = { ...exampleBody(name as ClassName), ...place }
      const { id } = assertStatus(await patient.call('POST', `procedure/${path}`, body), 201)
      const object = { ...exampleObject(name as ClassName), ...place }
      const { objectId } = (await byClass(patient).post(name, object).expect(201)).body
      return [path, id, objectId] as const
    })
    const pairs = await Promise.all(creations)
    const alerts = new Map((await alertsOf(patient)).map((alert) => [alert.id, alert]))
    const contentOf = (id: string) => {
      const { title, start, severity, data } = alerts.get(id) as Values
      const { measurementId: _, ...rest } = data as Values
      return { title, start, severity, ...rest }
    }
    for (const [path, id, objectId] of pairs) {
      assert.deepEqual(contentOf(id), contentOf(objectId))
      assert.equal((contentOf(id) as Values).kind, path)
    }
  })

  it('depends on unrounded values, like their names', async () => {
    const patient = await createPatient()
    const planId = await createPlan(patient)
    assertStatus(await patient.call('PUT', thresholdsOf(planId), { bmi: 'who' }))
    const body = {
      carePlanId: planId,
      timestamp,
      weight: 91.8,
      weightUnit: 'kg',
      height: 175,
      heightUnit: 'cm',
      age: 40,
    }
    const stored = assertStatus(await patient.call('POST', 'procedure/bmi', body), 201)
    assert.deepEqual([stored.bmi, stored.category], [30, 'pre-obese'])
    assert.deepEqual(await alertsOf(patient), [])
    assertStatus(await patient.call('POST', 'procedure/bmi', { ...body, weight: 91.9 }), 201)
    assert.equal((await alertsOf(patient)).length, 1)
    // A device's own value keeps its digits, and they decide.
    const { weight: _w, weightUnit: _wu, height: _h, heightUnit: _hu, ...place } = body
    const measured = assertStatus(await patient.call('POST', 'procedure/bmi', { ...place, bmi: 29.96 }), 201)
    assert.deepEqual([measured.bmi, measured.category], [29.96, 'pre-obese'])
    assert.equal((await alertsOf(patient)).length, 1)
    const replacement = { ...place, bmi: measured.bmi, comment: 'Again' }
    const { category } = assertStatus(await patient.call('PUT', `procedure/bmi/${measured.id}`, replacement))
    assert.equal(category, 'pre-obese')
  })

  it('exists for every value on a bound, in both families', async () => {
    const patient = await createPatient()
    const carePlanId = await createPlan(patient)
    assertStatus(
      await patient.call('PUT', thresholdsOf(carePlanId), {
        bmi: 'who',
        bloodpressure: { unit: 'kPa', systolicHigh: 18.6 },
      }),
    )
    const units = { weightUnit: 'kg', heightUnit: 'cm' }
    const onBounds = [
      [64, 160, 25, 'pre-obese'],
      [76.8, 160, 30, 'obese-1'],
      [89.6, 160, 35, 'obese-2'],
      [129.6, 180, 40, 'obese-3'],
    ] as const
    for (const [weight, height, bmi, category] of onBounds) {
      const values = { carePlanId, weight, height, ...units }
      const stored = assertStatus(await patient.call('POST', 'procedure/bmi', { ...values, timestamp }), 201)
      assert.deepEqual([stored.bmi, stored.category], [bmi, category])
      const object = { ...values, timestamp: parseDate(timestamp) }
      const { body } = await byClass(patient).post('BodyMassIndex', object).expect(201)
      assert.deepEqual([body.bmi, body.category], [bmi, category])
    }
    assert.equal((await alertsOf(patient)).length, 6)
    const pressure = { carePlanId, timestamp, systolicUnit: 'kPa', diastolic: 10, diastolicUnit: 'kPa' }
    // 18.6651 kPa are 139.99992 mm[Hg], which are stored as 139.9999 and are not hypertension.
    const grades = [
      [18.6, 'high-normal'],
      [18.6651, 'high-normal'],
      [18.66513423, 'high-normal'],
      [18.66513425, 'grade1'],
    ]
    for (const [systolic, condition] of grades)
      assert.equal(
        assertStatus(await patient.call('POST', 'procedure/bloodpressure', { ...pressure, systolic }), 201)
          .condition,
        condition,
      )
    assert.equal((await alertsOf(patient)).length, 9)
  })

  it('agrees with the record about its meaning, which may depend on the age', async () => {
    const patient = await createPatient()
    const carePlanId = await createPlan(patient)
    assertStatus(await patient.call('PUT', thresholdsOf(carePlanId), { acq: 'control', bmi: 'who' }))
    const questionnaire = { carePlanId, timestamp, version: 6, answers: [2, 2, 1, 1, 1, 1] }
    const asthma = assertStatus(
      await patient.call('POST', 'procedure/acq', { ...questionnaire, age: 10 }),
      201,
    )
    const body = { carePlanId, timestamp, weight: 17, weightUnit: 'kg', height: 110, heightUnit: 'cm' }
    const bmi = assertStatus(await patient.call('POST', 'procedure/bmi', { ...body, age: 5 }), 201)
    assert.deepEqual([asthma.control, bmi.category], ['not-well-controlled', null])
    const state = async () =>
      (await alertsOf(patient)).map(({ id, data }) => [id, (data as Values).state]).sort()
    assert.deepEqual(await state(), [[asthma.id, 'OPEN']])
    // A correction of the age alone corrects the alert, too.
    assertStatus(await patient.call('PUT', `procedure/acq/${asthma.id}`, { ...questionnaire, age: 30 }))
    assertStatus(await patient.call('PUT', `procedure/bmi/${bmi.id}`, { ...body, age: 25 }))
    const corrected = [
      [asthma.id, 'CORRECTED'],
      [bmi.id, 'OPEN'],
    ]
    assert.deepEqual(await state(), corrected.sort())
  })

  it('is raised by a systolic pressure alone, as the record says', async () => {
    const patient = await createPatient()
    const carePlanId = await createPlan(patient)
    assertStatus(await patient.call('PUT', thresholdsOf(carePlanId), { bloodpressure: 'esc2018' }))
    const place = { carePlanId, timestamp: parseDate(timestamp), systolicUnit: 'mm[Hg]' }
    const conditions = []
    for (const systolic of [190, 165, 125]) {
      const { body } = await byClass(patient)
        .post('BloodPressure', { ...place, systolic })
        .expect(201)
      conditions.push(body.condition)
    }
    assert.deepEqual(conditions, ['grade3', 'grade2', undefined])
    assert.deepEqual((await alertsOf(patient)).map(({ title }) => title).sort(), [
      'Blood pressure 165 mmHg: Hypertension grade 2',
      'Blood pressure 190 mmHg: Hypertension grade 3',
    ])
    const { events } = assertStatus(await patient.call('GET', 'summary/timeline?kinds=bloodpressure'))
    assert.deepEqual(events.map(({ severity }: Values) => severity).sort(), [4, 5, null])
  })

  it('depends on the person’s own limits, in their unit, and on the score that a plan watches', async () => {
    const patient = await createPatient()
    const planId = await createPlan(patient)
    const thresholds = {
      bodytemperature: { temperatureHigh: 100.4, unit: '[degF]' },
      bodyweight: { weightLow: 60, weightHigh: 75, unit: 'kg' },
    }
    assertStatus(await patient.call('PUT', thresholdsOf(planId), thresholds))
    const add = async (path: string, values: Values) =>
      assertStatus(
        await patient.call('POST', `procedure/${path}`, { carePlanId: planId, timestamp, ...values }),
        201,
      )
    await add('bodytemperature', { temperature: 38, temperatureUnit: 'Cel' })
    await add('bodytemperature', { temperature: 38.1, temperatureUnit: 'Cel' })
    await add('bodyweight', { weight: 75, weightUnit: 'kg' })
    await add('bodyweight', { weight: 130, weightUnit: '[lb_av]' })
    assert.deepEqual((await alertsOf(patient)).map(({ title, severity }) => [title, severity]).sort(), [
      ['Body temperature 38.1 °C: High', 'HIGH'],
      ['Body weight 58.97 kg: Low', 'MODERATE'],
    ])
    const lower = { bodyweight: { weightLow: 60, unit: 'kg' } }
    assertStatus(await patient.call('PUT', thresholdsOf(planId), lower))
    await add('bodyweight', { weight: 59, weightUnit: 'kg' })
    const single = (await alertsOf(patient)).find(({ title }) => title === 'Body weight 59 kg: Low')
    assert.deepEqual([single?.severity, (single?.data as Values | undefined)?.severity], ['HIGH', 1])
  })
})

import assert from 'node:assert/strict'
import { toRestEhrId } from '../../../../path-api/resources/openehr-rest/shared/ehr-ids.ts'
import { contributionOf, versionOf } from '../../../conformance/openehr-rest/fixture.ts'
import { addParticipant, createPatient, createPlan, type Patient } from '../../../harness/care/patients.ts'
import { assertError, createClassClient } from '../../../harness/clients/class-client.ts'
import { assertProblem, assertStatus } from '../../../harness/clients/path-client.ts'
import {
  BLOOD_PRESSURE,
  createPressuresComposition,
  getStoredTemplate,
} from '../../../harness/openehr-samples.ts'
import { createPerson } from '../../../harness/people/people.ts'

type Pressures = Parameters<typeof createPressuresComposition>[2]
// biome-ignore lint/suspicious/noExplicitAny: tests read any response
type Shown = any

const LATER = '2026-03-01T20:00:00.000Z'

describe('measurements in compositions', () => {
  let patient: Patient
  let template: string
  let planId: string
  before(async () => {
    ;[patient, template] = await Promise.all([createPatient(), getStoredTemplate(BLOOD_PRESSURE)])
    planId = await createPlan(patient)
    const thresholds = { bloodpressure: 'esc2018' }
    assertStatus(await patient.call('PUT', `careplan/${planId}/thresholds`, thresholds))
  })

  const compositions = () => `/med/ehr/${patient.ehrId}/composition`
  const commit = async (pressures: Pressures, place = ''): Promise<string> => {
    const composition = createPressuresComposition(template, BLOOD_PRESSURE, pressures)
    return assertStatus(await patient.call('POST', `${compositions()}/json${place}`, composition), 201)
      .compositionId
  }
  const replace = async (id: string, pressures: Pressures) => {
    const composition = createPressuresComposition(template, BLOOD_PRESSURE, pressures)
    const path = `${compositions()}/${id}/json`
    const { etag } = await patient.call('GET', path)
    assertStatus(await patient.call('PUT', path, composition, { 'if-match': etag }))
  }
  const heldBy = async (id: string, by: Pick<Patient, 'call'> = patient): Promise<Shown[]> =>
    assertStatus(await by.call('GET', `/ehr/${patient.ehrId}/procedure/bloodpressure`)).items.filter(
      ({ compositionId }: Shown) => compositionId === id,
    )
  const alertsOf = async (ids: string[]): Promise<Shown[]> =>
    assertStatus(
      await patient.call('GET', `/med/${patient.ehrId}/event?type=measurement-alert`),
    ).items.filter(({ id }: Shown) => ids.includes(id))
  const timeline = async (by: Pick<Patient, 'call'> = patient): Promise<string[]> =>
    assertStatus(
      await by.call('GET', `/ehr/${patient.ehrId}/summary/timeline?kinds=bloodpressure&limit=100`),
    ).events.map(({ content }: Shown) => content)
  const listSystolicValues = async (by: Pick<Patient, 'call'> = patient): Promise<number[]> =>
    assertStatus(
      await by.call('GET', `/ehr/${patient.ehrId}/summary/medgraph?measures=bloodpressure.systolic&points=0`),
    ).series[0].points.map(({ y }: Shown) => y)

  it('appear in the lists, the timeline, the graph and the data points, with their composition', async () => {
    const id = await commit([[118.5, 76], [131, 84, LATER], [500]], `?carePlanId=${planId}`)
    const measurements = await heldBy(id)
    assert.deepEqual(
      measurements.map(({ systolic, systolicUnit, diastolic, condition, carePlanId, timestamp }) => [
        systolic,
        systolicUnit,
        diastolic,
        condition,
        carePlanId,
        timestamp,
      ]),
      [
        [131, 'mm[Hg]', 84, 'high-normal', planId, LATER],
        [118.5, 'mm[Hg]', 76, 'optimal', planId, '2026-03-01T08:30:00.000Z'],
      ],
    )
    assert.deepEqual(
      assertStatus(await patient.call('GET', `procedure/bloodpressure/${measurements[0].id}`)),
      measurements[0],
    )
    const points: Shown[] = assertStatus(await patient.call('GET', 'procedure/bloodpressure/omh'))
    assert.ok(points.some(({ body }) => body.systolic_blood_pressure.value === 118.5))
    assert.ok((await timeline()).some((line) => line.startsWith('Blood pressure 131/84 mmHg')))
    assert.ok((await listSystolicValues()).includes(118.5))
  })

  it('belong to the EHR if their composition does, visible to those who read it', async () => {
    const [participant, stranger] = await Promise.all([createPerson(), createPerson()])
    await addParticipant(planId, participant, 'read')
    const id = await commit([[122.5, 81]])
    for (const who of [patient, participant]) {
      assert.deepEqual(
        (await heldBy(id, who)).map(({ systolic, carePlanId }) => [systolic, carePlanId]),
        [[122.5, null]],
      )
      assert.ok((await timeline(who)).includes('Blood pressure 122.5/81 mmHg'))
      assert.ok((await listSystolicValues(who)).includes(122.5))
    }
    assertProblem(
      await stranger.call('GET', `/ehr/${patient.ehrId}/procedure/bloodpressure`),
      404,
      'not-found',
    )
  })

  it('create alerts, and change and disappear with their composition', async () => {
    const id = await commit(
      [
        [185, 112],
        [119, 77, LATER],
      ],
      `?carePlanId=${planId}`,
    )
    const [low, high] = await heldBy(id)
    const ids = [low.id, high.id]
    const titles = async () => (await alertsOf(ids)).map(({ title, data }) => [title, data.state])
    assert.deepEqual(await titles(), [['Blood pressure 185/112 mmHg: Hypertension grade 3', 'OPEN']])
    await replace(id, [
      [121, 78],
      [145, 92, LATER],
    ])
    assert.deepEqual(
      (await heldBy(id)).map((one) => [one.id, one.systolic, one.version]),
      [
        [low.id, 145, 2],
        [high.id, 121, 2],
      ],
    )
    assert.deepEqual((await titles()).sort(), [
      ['Blood pressure 145/92 mmHg: Hypertension grade 1', 'OPEN'],
      ['Blood pressure 185/112 mmHg: Hypertension grade 3', 'CORRECTED'],
    ])
    await replace(id, [[121, 78]])
    assert.deepEqual(
      (await heldBy(id)).map((one) => [one.id, one.version]),
      [[high.id, 2]],
    )
    assert.equal((await patient.call('DELETE', `${compositions()}/${id}`)).status, 204)
    assert.deepEqual([await heldBy(id), await alertsOf(ids)], [[], []])
  })

  it('continue their versions when one contribution takes them out of a composition and back', async () => {
    const pressures: Pressures = [
      [121, 78],
      [145, 92, LATER],
    ]
    const id = await commit(pressures)
    const [later] = await heldBy(id)
    const steps = [pressures.slice(0, 1), pressures].map((next, i) =>
      versionOf(createPressuresComposition(template, BLOOD_PRESSURE, next), {
        preceding: `${id}::hrs.local::${i + 1}`,
      }),
    )
    const path = `/openehr/v1/ehr/${toRestEhrId(patient.ehrId)}/contribution`
    assertStatus(await patient.call('POST', path, contributionOf(...steps)), 201)
    const { items } = assertStatus(await patient.call('GET', `procedure/bloodpressure/${later.id}/history`))
    assert.deepEqual(
      items.map(({ version, action }: Shown) => [version, action]),
      [
        [3, 'create'],
        [2, 'delete'],
        [1, 'create'],
      ],
    )
  })

  it('are changed with their composition only', async () => {
    const id = await commit([[127, 79]], `?carePlanId=${planId}`)
    const [measurement] = await heldBy(id)
    const one = `procedure/bloodpressure/${measurement.id}`
    const { timestamp } = measurement
    const units = { systolicUnit: 'mm[Hg]', diastolicUnit: 'mm[Hg]' }
    const change = { timestamp, systolic: 128, diastolic: 79, ...units }
    const refusal = await patient.call('PUT', one, change)
    assertProblem(refusal, 409, 'conflict')
    assert.match(refusal.body.detail, new RegExp(`composition/${id} of the EHR`))
    assertProblem(await patient.call('DELETE', one), 409, 'conflict')
    const classes = createClassClient(patient)
    const { body } = await classes.get('BloodPressure', measurement.id).expect(200)
    assert.deepEqual([body.compositionId, body.systolic], [id, 127])
    assertError(
      await classes.put('BloodPressure', measurement.id, { comment: 'Mine' }),
      119,
      /is part of a composition/,
    )
    assertError(await classes.delete('BloodPressure', measurement.id), 119, /is part of a composition/)
    const fields = { carePlanId: planId, timestamp: body.timestamp, systolic: 1, systolicUnit: 'kPa' }
    assertError(await classes.post('BloodPressure', { ...fields, compositionId: id }), 142, /compositionId/)
    assert.deepEqual(await heldBy(id), [measurement])
  })

  it('are deleted with their composition, which the list of deleted records shows, and do not return alone', async () => {
    const id = await commit([[128, 77]])
    const [measurement] = await heldBy(id)
    assertStatus(await patient.call('DELETE', `${compositions()}/${id}`), 204)
    const { items } = assertStatus(await patient.call('GET', 'deleted'))
    assert.deepEqual([items[0].type, items[0].id], ['Composition', id])
    assert.ok(!items.some((one: Shown) => one.id === measurement.id))
    const one = `procedure/bloodpressure/${measurement.id}`
    assertStatus(await patient.call('GET', `${one}/history`))
    assertProblem(await patient.call('POST', `${one}/restore`, { version: 1 }), 409, 'conflict')
    assert.deepEqual(await heldBy(id), [])
  })

  it('appear once in queries, in their composition', async () => {
    const id = await commit([[126, 75]], `?carePlanId=${planId}`)
    const [measurement] = await heldBy(id)
    const q = `SELECT c/uid/value FROM EHR e[ehr_id/value='${patient.ehrId}'] CONTAINS COMPOSITION c CONTAINS OBSERVATION o[openEHR-EHR-OBSERVATION.blood_pressure.v2] WHERE o/data/events/data/items[at0004]/value/magnitude = 126`
    assert.deepEqual(assertStatus(await patient.call('POST', '/med/aql', { q })).rows, [
      [`${id}::hrs.local::1`],
    ])
    assertProblem(await patient.call('GET', `${compositions()}/${measurement.id}/json`), 404, 'not-found')
  })
})

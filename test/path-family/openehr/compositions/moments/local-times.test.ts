import assert from 'node:assert/strict'
import { createPatient, createPlan, type Patient } from '../../../../harness/care/patients.ts'
import { assertStatus } from '../../../../harness/clients/path-client.ts'
import {
  BLOOD_PRESSURE,
  createPressuresComposition,
  getStoredTemplate,
} from '../../../../harness/openehr-samples.ts'

const PRESSURE = { systolic: 120, systolicUnit: 'mmHg', diastolic: 80, diastolicUnit: 'mmHg' }

describe('the local time of a measurement', () => {
  let patient: Patient
  let template: string
  let carePlanId: string
  before(async () => {
    ;[patient, template] = await Promise.all([createPatient(), getStoredTemplate(BLOOD_PRESSURE)])
    carePlanId = await createPlan(patient)
  })

  const list = () => `/ehr/${patient.ehrId}/procedure/bloodpressure`
  const enter = async (timestamp: string, more: object = {}) =>
    assertStatus(await patient.call('POST', list(), { carePlanId, timestamp, ...PRESSURE, ...more }), 201).id

  it('is shown in its composition and in AQL', async () => {
    for (const [sent, offset, shown] of [
      ['2026-03-01T23:30:00Z', '+01:00', '2026-03-02T00:30:00.000+01:00'],
      ['2026-03-01T22:30:00Z', '-03:30', '2026-03-01T19:00:00.000-03:30'],
      ['2026-03-01T21:30:00Z', undefined, '2026-03-01T21:30:00.000Z'],
      ['2026-03-01T20:30:00Z', '+23:00', '2026-03-01T20:30:00.000Z'],
    ] as const) {
      const id = await enter(sent, offset && { utcOffset: offset })
      const path = `/med/ehr/${patient.ehrId}/composition/${id}/json`
      const { context, content } = assertStatus(await patient.call('GET', path))
      const { origin, events } = content[0].data
      assert.deepEqual(
        [context.start_time.value, origin.value, events[0].time.value],
        [shown, shown, shown],
        offset,
      )
      const q = `SELECT o/data/events/time/value FROM COMPOSITION c CONTAINS OBSERVATION o WHERE c/uid/value = '${id}' AND o/data/events/time/value = '${sent}'`
      assert.deepEqual(assertStatus(await patient.call('POST', '/med/aql', { q })).rows, [[shown]])
    }
  })

  it('is that of the event in a composition', async () => {
    const times = ['2026-03-02T00:45:00+01:00', '2026-03-01T22:45:00Z', '20260301T214500-0330']
    const composition = createPressuresComposition(
      template,
      BLOOD_PRESSURE,
      times.map((time, i) => [140 + i, 80, time]),
    )
    const path = `/med/ehr/${patient.ehrId}/composition/json?carePlanId=${carePlanId}`
    assertStatus(await patient.call('POST', path, composition), 201)
    const { items } = assertStatus(await patient.call('GET', `${list()}?limit=100`))
    // biome-ignore lint/suspicious/noExplicitAny: the test reads any response
    const highPressures = items.filter(({ systolic }: any) => systolic >= 140)
    assert.deepEqual(
      // biome-ignore lint/suspicious/noExplicitAny: the test reads any response
      highPressures.map(({ timestamp, utcOffset }: any) => [timestamp, utcOffset]).sort(),
      [
        ['2026-03-01T22:45:00.000Z', null],
        ['2026-03-01T23:45:00.000Z', '+01:00'],
        ['2026-03-02T01:15:00.000Z', '-03:30'],
      ],
    )
    const points = assertStatus(await patient.call('GET', `${list()}/omh`))
    const localTimes = JSON.stringify(points)
    for (const time of ['2026-03-02T00:45:00.000+01:00', '2026-03-01T21:45:00.000-03:30'])
      assert.ok(localTimes.includes(time), localTimes)
  })
})

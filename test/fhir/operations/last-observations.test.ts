import assert from 'node:assert/strict'
import { createPatient, createPlan, type Patient } from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { callFhir, idsIn, issuesIn, readFhir } from '../fhir-client.ts'

describe('the last observations in FHIR', () => {
  let patient: Patient
  let carePlanId: string
  before(async () => {
    patient = await createPatient()
    carePlanId = await createPlan(patient)
  })
  const store = async (kind: string, day: string, body: object): Promise<string> =>
    assertStatus(
      await patient.call('POST', `procedure/${kind}`, {
        carePlanId,
        timestamp: `2026-03-${day}T08:00:00Z`,
        ...body,
      }),
      201,
    ).id
  const pressure = { systolic: 128, systolicUnit: 'mmHg', diastolic: 82, diastolicUnit: 'mmHg' }
  const last = async (query: string) => idsIn(await readFhir(patient, `Observation/$lastn?${query}`)).sort()

  it('are the newest of each code, also of parts', async () => {
    await store('bodyweight', '01', { weight: 70, weightUnit: 'kg' })
    const weight = await store('bodyweight', '03', { weight: 71, weightUnit: 'kg' })
    await store('bloodpressure', '01', pressure)
    const second = await store('bloodpressure', '02', { ...pressure, heartRate: 70 })
    const rate = await store('heartrate', '04', { heartRate: 80, heartRateUnit: '/min' })
    const query = `patient=${patient.ehrId}`
    assert.deepEqual(await last(query), [weight, second, rate].sort())
    assert.deepEqual(await last(`${query}&code=8867-4`), [rate])
    assert.deepEqual(await last(`${query}&code=8867-4&max=5`), [rate, `${second}.hr`].sort())
    assert.deepEqual(await last(`${query}&category=laboratory`), [])
    assert.deepEqual(await last(`subject=Patient/${patient.ehrId}&date=le2026-03-02&code=85354-9`), [second])
  })

  it('are those of one patient, who must be named', async () => {
    const stranger = await createPatient()
    const unreadable = await readFhir(stranger, `Observation/$lastn?patient=${patient.ehrId}`)
    assert.equal(unreadable.entry, undefined)
    for (const [query, issue] of [
      ['code=8867-4', 'required http.patient'],
      [`patient=${patient.ehrId},${stranger.ehrId}`, 'required http.patient'],
      [`patient=${patient.ehrId}&max=0`, 'value http.max'],
      [`patient=${patient.ehrId}&max=many`, 'value http.max'],
    ] as const) {
      const answer = await callFhir(patient, 'GET', `Observation/$lastn?${query}`)
      assert.equal(answer.status, 400)
      assert.deepEqual(issuesIn(answer), [issue])
    }
  })
})

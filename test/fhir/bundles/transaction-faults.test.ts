import assert from 'node:assert/strict'
import { createPatient, createPlan, type Patient } from '../../harness/care/patients.ts'
import { type Answer, assertStatus } from '../../harness/clients/path-client.ts'
import { bloodPressureOf, callFhir, issuesIn, type Json, readFhir } from '../fhir-client.ts'

describe('the entries of a transaction in FHIR', () => {
  let patient: Patient
  before(async () => {
    patient = await createPatient()
    await createPlan(patient)
  })

  const post = (entry: object[], prefer?: string): Promise<Answer> =>
    callFhir(
      patient,
      'POST',
      '',
      { resourceType: 'Bundle', type: 'transaction', entry },
      prefer === undefined ? {} : { prefer },
    )
  const reading = (url: string) => ({ request: { method: 'GET', url } })
  const pressure = (day: string, more: object = {}) => ({
    resource: bloodPressureOf(patient.ehrId, { effectiveDateTime: `${day}T08:00:00Z`, ...more }),
    request: { method: 'POST', url: 'Observation' },
  })
  const count = async (day: string): Promise<number> =>
    (await readFhir(patient, `Observation?patient=${patient.ehrId}&date=${day}&_summary=count`)).total

  it('store nothing if one of them reads what does not exist, or searches wrongly', async () => {
    const rows = [
      ['Observation/unknown123', 404],
      ['Observation?_sort=code', 400],
      ['Basic/unknown123', 404],
    ] as const
    for (const [url, status] of rows) {
      const answer = await post([reading(url), pressure('2025-03-01')])
      assert.equal(answer.status, status, url)
      assert.deepEqual(answer.body.issue[0].expression, ['Bundle.entry[0]'])
      assert.equal(await count('2025-03-01'), 0)
    }
  })

  it('are read after the writes, so that a read of what is deleted has a status of its own', async () => {
    const { id } = assertStatus(
      await callFhir(patient, 'POST', 'Observation', pressure('2025-03-02').resource),
      201,
    )
    const url = `Observation/${id}`
    const search = `Observation?patient=${patient.ehrId}&date=2025-03-02&_summary=count`
    const answer = await post([reading(url), reading(search), { request: { method: 'DELETE', url } }])
    const { entry } = assertStatus(answer)
    assert.deepEqual(
      entry.map(({ response }: Json) => response.status),
      ['410', '200', '204'],
    )
    assert.equal(entry[1].resource.total, 0)
  })

  it('have all their faults in one response', async () => {
    const answer = await post([
      pressure('2025-03-03', { status: 'preliminary' }),
      pressure('2025-03-03'),
      pressure('2025-03-03', { effectiveDateTime: 'yesterday', issued: '2025-03-03T08:00:00Z' }),
    ])
    assert.equal(answer.status, 422)
    assert.deepEqual(issuesIn(answer), [
      'not-supported Bundle.entry[0].resource.status',
      'value Bundle.entry[2].resource.effectiveDateTime',
      'not-supported Bundle.entry[2].resource.issued',
    ])
    assert.equal(await count('2025-03-03'), 0)
  })

  it('follow what the client prefers', async () => {
    const responses = async (prefer: string) => {
      const { entry } = assertStatus(
        await post([pressure('2025-03-04', { issued: '2025-03-04T08:00:00Z' })], prefer),
      )
      const [{ resource, response }] = entry
      const expressions = response.outcome?.issue.map(
        (one: Json) => `${one.severity} ${one.expression ?? ''}`,
      )
      return [response.status, resource?.resourceType, expressions]
    }
    const warnings = ['warning Observation.issued']
    assert.deepEqual(await responses('handling=lenient'), ['201', 'Observation', warnings])
    assert.deepEqual(await responses('handling=lenient, return=minimal'), ['201', undefined, warnings])
    const { entry } = assertStatus(await post([pressure('2025-03-05')], 'return=OperationOutcome'))
    assert.equal(entry[0].resource, undefined)
    assert.equal(entry[0].response.outcome.issue[0].severity, 'information')
  })
})

import assert from 'node:assert/strict'
import { createPatient, createPlan, type Patient } from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { callFhir, issuesIn, type Json, readFhir } from '../fhir-client.ts'

describe('a part of a record in FHIR', () => {
  let patient: Patient
  let planId: string
  before(async () => {
    patient = await createPatient()
    planId = await createPlan(patient)
  })

  const create = async (path: string, values: object): Promise<string> => {
    const body = { carePlanId: planId, timestamp: '2026-03-01T08:30:00Z', ...values }
    return assertStatus(await patient.call('POST', `procedure/${path}`, body), 201).id
  }
  const createPressure = () =>
    create('bloodpressure', {
      systolic: 128,
      systolicUnit: 'mm[Hg]',
      diastolic: 82,
      diastolicUnit: 'mm[Hg]',
      heartRate: 66,
      position: 'sitting',
    })
  const createIndex = () => create('bmi', { weight: 72, weightUnit: 'kg', height: 180, heightUnit: 'cm' })
  const withValue = (resource: Json, value: number): Json => ({
    ...resource,
    valueQuantity: { ...resource.valueQuantity, value },
  })
  const put = (resource: Json, headers: Record<string, string> = {}) =>
    callFhir(patient, 'PUT', `Observation/${resource.id}`, resource, headers)

  it('is corrected alone, and the rest of the record stays', async () => {
    const id = await createPressure()
    const pulse = await readFhir(patient, `Observation/${id}.hr`)
    const corrected = assertStatus(await put(withValue(pulse, 76), { 'if-match': 'W/"1"' }))
    assert.equal(corrected.valueQuantity.value, 76)
    assert.deepEqual([corrected.id, corrected.meta.versionId], [`${id}.hr`, '2'])
    assert.deepEqual(corrected.derivedFrom, [{ reference: `Observation/${id}` }])
    const whole = await readFhir(patient, `Observation/${id}`)
    assert.deepEqual(
      whole.component.map(({ valueQuantity }: Json) => valueQuantity.value),
      [128, 82],
    )
    assert.ok(JSON.stringify(whole).includes('sitting'))
    assertStatus(await put(withValue(pulse, 77), { 'if-match': 'W/"1"' }), 412)
    const patch = [{ op: 'replace', path: '/valueQuantity/value', value: 78 }]
    const headers = { 'content-type': 'application/json-patch+json' }
    assertStatus(await callFhir(patient, 'PATCH', `Observation/${id}.hr`, patch, headers))
    assert.equal((await readFhir(patient, `Observation/${id}.hr`)).valueQuantity.value, 78)
  })

  it('is calculated with', async () => {
    const id = await createIndex()
    const weight = await readFhir(patient, `Observation/${id}.w`)
    assertStatus(await put(withValue(weight, 81)))
    assert.equal((await readFhir(patient, `Observation/${id}`)).valueQuantity.value, 25)
    assert.equal((await readFhir(patient, `Observation/${id}.h`)).valueQuantity.value, 180)
  })

  it('is refused by the rules of the record, and at its own elements', async () => {
    const id = await createPressure()
    const pulse = await readFhir(patient, `Observation/${id}.hr`)
    for (const [change, issue] of [
      [withValue(pulse, -5), 'Observation.valueQuantity.value'],
      [{ ...pulse, derivedFrom: [{ reference: 'Observation/another' }] }, 'Observation.derivedFrom[0]'],
      [{ ...pulse, code: { text: 'Weight' } }, 'Observation.code'],
    ]) {
      const answer = await put(change)
      assert.equal(answer.status, 422)
      assert.ok(
        issuesIn(answer).some((one) => one.includes(issue)),
        issuesIn(answer).join(),
      )
    }
  })

  it('keeps its value, unless it is deleted', async () => {
    const id = await createPressure()
    const { valueQuantity, ...pulse } = await readFhir(patient, `Observation/${id}.hr`)
    const headers = { 'content-type': 'application/json-patch+json' }
    const patch = [{ op: 'remove', path: '/valueQuantity' }]
    for (const answer of [
      await put(pulse),
      await callFhir(patient, 'PATCH', `Observation/${id}.hr`, patch, headers),
    ])
      assert.deepEqual(
        [answer.status, ...issuesIn(answer)],
        [422, 'required Observation.valueQuantity.value'],
      )
    assert.deepEqual((await readFhir(patient, `Observation/${id}.hr`)).valueQuantity, valueQuantity)
  })

  it('is deleted alone, if the record can be without it', async () => {
    const id = await createPressure()
    assertStatus(await callFhir(patient, 'DELETE', `Observation/${id}.hr`), 204)
    assertStatus(await callFhir(patient, 'GET', `Observation/${id}.hr`), 410)
    assertStatus(await callFhir(patient, 'DELETE', `Observation/${id}.hr`), 204)
    const whole = await readFhir(patient, `Observation/${id}`)
    assert.equal(whole.hasMember, undefined)
    assert.equal(whole.component.length, 2)
    const indexId = await createIndex()
    const answer = await callFhir(patient, 'DELETE', `Observation/${indexId}.w`)
    assert.equal(answer.status, 422)
    assert.match(issuesIn(answer).join(), /Observation\.valueQuantity/)
    await readFhir(patient, `Observation/${indexId}.w`)
  })

  it('is changed and deleted in a transaction', async () => {
    const [changed, deleted] = [await createPressure(), await createPressure()]
    const pulse = await readFhir(patient, `Observation/${changed}.hr`)
    const entry = [
      {
        resource: withValue(pulse, 71),
        request: { method: 'PUT', url: `Observation/${changed}.hr` },
      },
      { request: { method: 'DELETE', url: `Observation/${deleted}.hr` } },
    ]
    assertStatus(await callFhir(patient, 'POST', '', { resourceType: 'Bundle', type: 'transaction', entry }))
    assert.equal((await readFhir(patient, `Observation/${changed}.hr`)).valueQuantity.value, 71)
    assertStatus(await callFhir(patient, 'GET', `Observation/${deleted}.hr`), 410)
  })
})

import assert from 'node:assert/strict'
import { createPatient, createPlan, createWeight, type Patient } from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { bloodPressureOf, callFhir, issuesIn, type Json, readFhir } from '../fhir-client.ts'

describe('a precondition in FHIR', () => {
  let patient: Patient
  let id: string
  let weight: Json
  before(async () => {
    patient = await createPatient()
    id = await createWeight(patient, await createPlan(patient))
    weight = await readFhir(patient, `Observation/${id}`)
  })

  const sendEntry = async (type: string, request: object, resource?: object) =>
    callFhir(patient, 'POST', '', { resourceType: 'Bundle', type, entry: [{ request, resource }] })
  /** The status of a request in a batch. */
  const statusInBatch = async (request: object, resource?: object): Promise<string> =>
    assertStatus(await sendEntry('batch', request, resource)).entry[0].response.status

  it('has the same effect in a header and in a Bundle', async () => {
    const url = `Observation/${id}`
    const update = (ifMatch: string) => callFhir(patient, 'PUT', url, weight, { 'if-match': ifMatch })
    for (const [ifMatch, status] of [
      ['W/"99", W/"98"', 412],
      ['*', 428],
      ['garbage', 400],
    ] as const) {
      assert.equal((await update(ifMatch)).status, status, ifMatch)
      const request = { method: 'PUT', url, ifMatch }
      assert.equal(await statusInBatch(request, weight), String(status), ifMatch)
      assert.equal((await sendEntry('transaction', request, weight)).status, status, ifMatch)
    }
    const listed = { method: 'PUT', url, ifMatch: 'W/"99", W/"1"' }
    assert.equal(await statusInBatch(listed, weight), '200')
    for (const ifNoneMatch of ['*', 'W/"2"', 'W/"99", W/"2"'])
      assert.equal(await statusInBatch({ method: 'GET', url, ifNoneMatch }), '304', ifNoneMatch)
    assert.equal(await statusInBatch({ method: 'GET', url, ifNoneMatch: 'W/"1"' }), '200')
  })

  it('may be a time in an entry that reads', async () => {
    const read = (more: object) => statusInBatch({ method: 'GET', url: `Observation/${id}`, ...more })
    assert.equal(await read({ ifModifiedSince: '2100-01-01T00:00:00Z' }), '304')
    assert.equal(await read({ ifModifiedSince: '2020-01-01T00:00:00Z' }), '200')
    assert.equal(await read({ ifModifiedSince: '2100-01-01T00:00:00Z', ifNoneMatch: 'W/"77"' }), '200')
  })

  it('is refused in an entry if it cannot be read', async () => {
    for (const condition of [
      { ifMatch: 2 },
      { ifNoneExist: {} },
      { ifNoneMatch: 2 },
      { ifModifiedSince: 'yesterday' },
    ]) {
      const answer = await sendEntry(
        'transaction',
        { method: 'PUT', url: `Observation/${id}`, ...condition },
        weight,
      )
      assert.equal(answer.status, 400)
      assert.match(
        String(issuesIn(answer)),
        new RegExp(` Bundle.entry\\[0\\].request.${Object.keys(condition)}$`),
      )
    }
  })

  it('fails where a conditional update finds no resource', async () => {
    const url = `Observation?patient=${patient.ehrId}&date=2024-01-01`
    const resource = bloodPressureOf(patient.ehrId, { effectiveDateTime: '2024-01-01T08:00:00Z' })
    const ifMatch = 'W/"1"'
    assertStatus(await callFhir(patient, 'PUT', url, resource, { 'if-match': ifMatch }), 412)
    assert.equal(await statusInBatch({ method: 'PUT', url, ifMatch }, resource), '412')
    assertStatus(await sendEntry('transaction', { method: 'PUT', url, ifMatch }, resource), 412)
    assert.equal((await readFhir(patient, `${url}&_summary=count`)).total, 0)
    assertStatus(await callFhir(patient, 'PUT', url, resource), 201)
    assertStatus(await callFhir(patient, 'PUT', url, resource, { 'if-match': ifMatch }))
  })
})

import assert from 'node:assert/strict'
import { createPatient, createPlan, type Patient } from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { bloodPressureOf, callFhir, issuesIn, readFhir } from '../fhir-client.ts'

describe('a resource that a client writes back to FHIR', () => {
  let patient: Patient
  before(async () => {
    patient = await createPatient()
    await createPlan(patient)
  })

  it('is refused if a search has left out elements, also when the client is lenient', async () => {
    const note = [{ text: 'Felt dizzy, fell' }]
    const body = bloodPressureOf(patient.ehrId, { note })
    const { id } = assertStatus(await callFhir(patient, 'POST', 'Observation', body), 201)
    const elements = 'component,status,code,subject,effectiveDateTime,category'
    const subset = await readFhir(patient, `Observation?patient=${patient.ehrId}&_elements=${elements}`)
    const [{ resource }] = subset.entry
    for (const headers of [{}, { prefer: 'handling=lenient' }]) {
      const answer = await callFhir(patient, 'PUT', `Observation/${id}`, resource, headers)
      assert.deepEqual([answer.status, ...issuesIn(answer)], [422, 'not-supported Observation.meta.tag'])
      assert.match(answer.body.issue[0].diagnostics, /Read the whole resource/)
    }
    assert.deepEqual((await readFhir(patient, `Observation/${id}`)).note, note)
  })

  it('is refused with empty elements, which FHIR forbids', async () => {
    const body = bloodPressureOf(patient.ehrId, { partOf: [], extension: [{}] })
    const answer = await callFhir(patient, 'POST', 'Observation', body)
    assert.deepEqual(
      [answer.status, ...issuesIn(answer).sort()],
      [422, 'required Observation.extension[0]', 'required Observation.partOf'],
    )
  })

  it('loses what a JSON Patch empties', async () => {
    const body = bloodPressureOf(patient.ehrId, { note: [{ text: 'Felt dizzy' }] })
    const headers = { 'content-type': 'application/json-patch+json' }
    for (const path of ['/note/0', '/note/0/text', '/note']) {
      const { id } = assertStatus(await callFhir(patient, 'POST', 'Observation', body), 201)
      const patch = [{ op: 'remove', path }]
      assertStatus(await callFhir(patient, 'PATCH', `Observation/${id}`, patch, headers))
      assert.equal((await readFhir(patient, `Observation/${id}`)).note, undefined, path)
    }
  })

  it('is not taken for a cut one because of a tag of another system', async () => {
    const tag = [{ system: 'http://example.org/tags', code: 'SUBSETTED' }]
    const body = bloodPressureOf(patient.ehrId, { meta: { tag } })
    assertStatus(await callFhir(patient, 'POST', 'Observation', body, { prefer: 'handling=lenient' }), 201)
  })
})

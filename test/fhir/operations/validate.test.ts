import assert from 'node:assert/strict'
import {
  addParticipant,
  createPatient,
  createPlan,
  createWeight,
  type Patient,
  readAudit,
} from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { createPerson } from '../../harness/people/people.ts'
import { bloodPressureOf, callFhir, idsIn, issuesIn, type Json, readFhir } from '../fhir-client.ts'

describe('the validation of resources in FHIR', () => {
  let patient: Patient
  let planId: string
  let weight: Json
  before(async () => {
    patient = await createPatient()
    planId = await createPlan(patient)
    weight = await readFhir(patient, `Observation/${await createWeight(patient, planId)}`)
  })
  const validate = (path: string, body?: object, headers: Record<string, string> = {}, who = patient.call) =>
    callFhir({ ...patient, call: who }, 'POST', path, body, headers)
  const everything = async () => ({
    ids: idsIn(await readFhir(patient, `Observation?patient=${patient.ehrId}`)),
    plan: await readFhir(patient, `CarePlan/${planId}`),
  })

  it('accepts what a write would accept, and stores nothing', async () => {
    const before = await everything()
    const since = new Date()
    for (const [path, body] of [
      ['Observation/$validate', bloodPressureOf(patient.ehrId)],
      [
        'Observation/$validate',
        {
          resourceType: 'Parameters',
          parameter: [
            { name: 'mode', valueCode: 'create' },
            { name: 'resource', resource: bloodPressureOf(patient.ehrId) },
          ],
        },
      ],
      [`Observation/${weight.id}/$validate`, { ...weight, note: [{ text: 'Dressed' }] }],
      ['Observation/$validate?mode=update', weight],
      [`Observation/${weight.id}/$validate?mode=delete`, undefined],
      [`CarePlan/${planId}/$validate?mode=delete`, undefined],
    ] as const) {
      const answer = await validate(path, body)
      assert.equal(answer.status, 200, path)
      assert.deepEqual(issuesIn(answer), ['informational'], path)
    }
    assert.deepEqual(await everything(), before)
    assert.ok((await readAudit(patient.ehrId, since)).includes('query BodyWeight done'))
  })

  it('has the issues that the write would have', async () => {
    const unit = structuredClone(weight)
    unit.valueQuantity.code = 'C'
    for (const [method, path, body] of [
      [
        'POST',
        'Observation',
        { ...bloodPressureOf(patient.ehrId), status: 'preliminary', subject: undefined },
      ],
      ['POST', 'Observation', bloodPressureOf(patient.ehrId, { component: [] })],
      ['PUT', `Observation/${weight.id}`, unit],
      ['PUT', `Observation/${weight.id}`, { ...weight, id: 'another' }],
    ] as const) {
      const writeResponse = await callFhir(patient, method, path, body)
      const tried = await validate(`${path}/$validate`, body)
      assert.equal(tried.status, 200)
      assert.ok(writeResponse.status >= 400)
      assert.deepEqual(issuesIn(tried), issuesIn(writeResponse), path)
    }
    const strict = { ...bloodPressureOf(patient.ehrId), language: 'nl', interpretation: [{ text: 'High' }] }
    const lenient = await validate('Observation/$validate', strict, { prefer: 'handling=lenient' })
    assert.deepEqual(issuesIn(lenient), [
      'not-supported Observation.language',
      'not-supported Observation.interpretation[0]',
    ])
    assert.equal(lenient.body.issue[0].severity, 'warning')
  })

  it('tells a reader that they may not write, and a stranger nothing', async () => {
    const nurse = await createPerson()
    await addParticipant(planId, nurse, 'read')
    const path = `Observation/${weight.id}/$validate`
    const refusal = await validate(path, weight, {}, nurse.call)
    assert.equal(refusal.status, 200)
    assert.deepEqual(issuesIn(refusal), ['forbidden'])
    const stranger = await createPatient()
    assert.equal((await validate(path, weight, {}, stranger.call)).status, 404)
    const created = await validate('Observation/$validate', bloodPressureOf(patient.ehrId), {}, stranger.call)
    assert.equal(created.status, 200)
    assert.equal(created.body.issue[0].severity, 'error')
  })

  it('refuses resources of another type, and unknown parameters', async () => {
    for (const [path, body, issue] of [
      ['Observation/$validate', { resourceType: 'Patient' }, 'code-invalid resourceType'],
      ['Observation/$validate?mode=profile', weight, 'code-invalid http.mode'],
      [
        'Observation/$validate',
        { resourceType: 'Parameters', parameter: [{ name: 'usageContext', valueUri: 'x' }] },
        'not-supported Parameters.parameter[0]',
      ],
    ] as const) {
      const answer = await validate(path, body)
      assert.equal(answer.status, 400, path)
      assert.deepEqual(issuesIn(answer), [issue])
    }
    assertStatus(await validate('Observation/$validate?mode=delete'), 200)
  })
})

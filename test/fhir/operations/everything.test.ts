import assert from 'node:assert/strict'
import {
  addParticipant,
  createGoal,
  createPatient,
  createPlan,
  createTask,
  createWeight,
  type Patient,
  readAudit,
} from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { createPerson } from '../../harness/people/people.ts'
import { callFhir, issuesIn, type Json, readFhir, readPages } from '../fhir-client.ts'

describe('everything about a patient in FHIR', () => {
  let patient: Patient
  let planId: string
  /** The ids of all resources. */
  let allIds: string[]
  before(async () => {
    patient = await createPatient()
    planId = await createPlan(patient)
    const goalId = await createGoal(patient, planId)
    const taskId = await createTask(patient, planId, goalId)
    const weights = [await createWeight(patient, planId, 70), await createWeight(patient, planId, 71)]
    const condition = {
      resourceType: 'Condition',
      subject: { reference: `Patient/${patient.ehrId}` },
      code: { text: 'Hypertension' },
      clinicalStatus: {
        coding: [{ system: 'http://terminology.hl7.org/CodeSystem/condition-clinical', code: 'active' }],
      },
      verificationStatus: {
        coding: [{ system: 'http://terminology.hl7.org/CodeSystem/condition-ver-status', code: 'confirmed' }],
      },
    }
    const { id } = assertStatus(await callFhir(patient, 'POST', 'Condition', condition), 201)
    // The participants of the plan have its id.
    allIds = [patient.ehrId, planId, planId, goalId, taskId, ...weights, id].sort()
  })
  const path = (query = '') => `Patient/${patient.ehrId}/$everything?${query}`

  it('has the Patient first and each resource once, in pages of any size', async () => {
    for (const count of [1, 2, 3, 100]) {
      const ids = await readPages(patient, path(`_count=${count}`))
      assert.equal(ids[0], patient.ehrId)
      assert.deepEqual(ids.sort(), allIds, `${count}`)
    }
    const bundle = await readFhir(patient, path(`_count=${allIds.length}`))
    assert.deepEqual(
      bundle.link.map(({ relation }: Json) => relation),
      ['self', 'first'],
    )
  })

  it('can be limited by type, time of the care and time of the change', async () => {
    const types = async (query: string) =>
      ((await readFhir(patient, path(query))).entry ?? []).map(({ resource }: Json) => resource.resourceType)
    assert.deepEqual(await types('_type=Goal,Patient'), ['Patient', 'Goal'])
    assert.equal((await types('_type=')).length, allIds.length)
    assert.deepEqual(await types('_type=Observation'), ['Observation', 'Observation'])
    assert.deepEqual(await types('_type=Observation&start=2026-03-02'), [])
    assert.deepEqual(await types('_type=Observation&start=2026-03-01&end=2026-03-01'), [
      'Observation',
      'Observation',
    ])
    assert.deepEqual(await types(`_type=Goal&_since=${new Date(Date.now() + 60_000).toISOString()}`), [])
  })

  it('shows a participant the own care plan alone, with entries in the audit', async () => {
    const nurse = await createPerson()
    await createWeight(patient, await createPlan(patient))
    await addParticipant(planId, nurse, 'read')
    const since = new Date()
    const ids = await readPages(nurse, path('_count=2'))
    assert.ok(ids.length >= allIds.length - 1 && ids.every((id) => allIds.includes(id)), String(ids))
    const audit = await readAudit(patient.ehrId, since)
    for (const line of ['read Ehr done', 'query BodyWeight done', 'query Goal done'])
      assert.ok(audit.includes(line), line)
  })

  it('is unknown to a stranger, and refuses what it does not understand', async () => {
    const stranger = await createPatient()
    const next = await readFhir(patient, path('_count=1'))
    const url = next.link.find(({ relation }: Json) => relation === 'next').url.replace(/^.*\/fhir\/R4\//, '')
    for (const one of [path(), url]) assert.equal((await callFhir(stranger, 'GET', one)).status, 404)
    for (const [query, issue] of [
      ['_type=Encounter', 'not-supported http._type'],
      ['start=yesterday', 'value http.start'],
      ['_since=x', 'value http._since'],
      ['_cursor=abc', 'invalid http._cursor'],
    ] as const) {
      const answer = await callFhir(patient, 'GET', path(query))
      assert.equal(answer.status, 400)
      assert.deepEqual(issuesIn(answer), [issue])
    }
  })
})

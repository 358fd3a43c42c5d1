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
import { request } from '../../harness/service/service.ts'
import { callFhir, issuesIn, type Json, readFhir } from '../fhir-client.ts'

/** The entries of a Bundle as `mode Type/id`. */
const entriesIn = ({ entry = [] }: Json): string[] =>
  entry.map(({ resource, search }: Json) => `${search.mode} ${resource.resourceType}/${resource.id}`)

describe('searches in FHIR that include resources', () => {
  let patient: Patient
  let planId: string
  let goalId: string
  let taskId: string
  let weightIds: string[]
  before(async () => {
    patient = await createPatient()
    planId = await createPlan(patient)
    goalId = await createGoal(patient, planId)
    taskId = await createTask(patient, planId, goalId)
    weightIds = [await createWeight(patient, planId, 70), await createWeight(patient, planId, 71)]
  })
  const search = (path: string, who: Patient['call'] = patient.call) =>
    readFhir({ ...patient, call: who }, path)

  it('show what the matches refer to, once', async () => {
    const bundle = await search(
      `Observation?patient=${patient.ehrId}&_include=Observation:based-on&_include=Observation:subject:Patient&_count=1`,
    )
    const [match, ...included] = entriesIn(bundle)
    assert.match(match ?? '', /^match Observation\//)
    assert.deepEqual(included, [`include CarePlan/${planId}`, `include Patient/${patient.ehrId}`])
    assert.equal(bundle.entry.at(-1).fullUrl.endsWith(`/fhir/R4/Patient/${patient.ehrId}`), true)
    assert.match(bundle.link[0].url, /_include=Observation%3Abased-on/)
    const everyInclude = await search(`Task?patient=${patient.ehrId}&_include=*`)
    assert.deepEqual(entriesIn(everyInclude).sort(), [
      `include CarePlan/${planId}`,
      `include Goal/${goalId}`,
      `include Patient/${patient.ehrId}`,
      `match Task/${taskId}`,
    ])
  })

  it('show what refers to the matches, once', async () => {
    const bundle = await search(
      `CarePlan?patient=${patient.ehrId}&_revinclude=Observation:based-on&_revinclude=Task:based-on&_revinclude=Task:*`,
    )
    assert.deepEqual(
      entriesIn(bundle).sort(),
      [
        `match CarePlan/${planId}`,
        `include Task/${taskId}`,
        ...weightIds.map((id) => `include Observation/${id}`),
      ].sort(),
    )
    const ofPatient = await search(`Patient?_id=${patient.ehrId}&_revinclude=Goal:patient`)
    assert.deepEqual(entriesIn(ofPatient), [`match Patient/${patient.ehrId}`, `include Goal/${goalId}`])
  })

  it('include nothing where there is no match', async () => {
    const bundle = await search(`Observation?patient=${patient.ehrId}&date=1999&_include=*`)
    assert.equal(bundle.entry, undefined)
  })

  it('show nothing that the caller may not read, and leave an entry in the audit', async () => {
    const nurse = await createPerson()
    const other = await createPlan(patient)
    const hidden = await createWeight(patient, other, 80)
    await addParticipant(planId, nurse, 'read')
    const since = new Date()
    const bundle = await search(`Patient?_id=${patient.ehrId}&_revinclude=Observation:patient`, nurse.call)
    assert.deepEqual(
      entriesIn(bundle).slice(1).sort(),
      weightIds.map((id) => `include Observation/${id}`).sort(),
    )
    assert.ok(!JSON.stringify(bundle).includes(hidden))
    assert.ok((await readAudit(patient.ehrId, since)).includes('query BodyWeight done'))
  })

  it('report that a page cannot have all of them', async () => {
    const mine = await createPatient()
    const carePlanId = await createPlan(mine)
    const values = { weight: 70, weightUnit: 'kg', carePlanId }
    const items = Array.from({ length: 1001 }, (_, i) => ({
      kind: 'bodyweight',
      ...values,
      timestamp: new Date(Date.UTC(2020, 0, 1, 0, i)).toISOString(),
    }))
    for (const part of [items.slice(0, 500), items.slice(500)]) {
      const { stored } = assertStatus(await mine.call('POST', 'procedure/batch', { items: part }))
      assert.equal(stored, part.length)
    }
    const bundle = await readFhir(mine, `CarePlan?patient=${mine.ehrId}&_revinclude=Observation:based-on`)
    assert.equal(bundle.entry.length, 1 + 1000 + 1)
    const [issue] = bundle.entry.at(-1).resource.issue
    assert.deepEqual(
      [issue.severity, issue.code, issue.location],
      ['warning', 'too-costly', ['http._revinclude']],
    )
  })

  it('refuse what cannot be included, by the name of the parameter', async () => {
    for (const [query, place] of [
      ['_include=Observation:nothing', '_include'],
      ['_include=Condition:patient', '_include'],
      ['_include=Observation:constructor', '_include'],
      ['_revinclude=Observation:based-on', '_revinclude'],
      ['_include:iterate=Observation:patient', '_include:iterate'],
    ]) {
      const answer = await callFhir(patient, 'GET', `Observation?patient=${patient.ehrId}&${query}`)
      assert.equal(answer.status, 400, query)
      assert.deepEqual(issuesIn(answer), [`not-supported http.${place}`])
    }
    const none = await callFhir(patient, 'GET', `Patient?_id=${patient.ehrId}&_include=*`)
    assert.deepEqual(issuesIn(none), ['not-supported http._include'])
  })

  it('are those that the capabilities name', async () => {
    const { body } = await request().get('/fhir/R4/metadata')
    const pairsOf = (kind: string) =>
      body.rest[0].resource.flatMap(({ type, [kind]: values = [] }: Json) =>
        values.map((value: string) => [type, value]),
      )
    const includes = pairsOf('searchInclude')
    const reverse = pairsOf('searchRevInclude')
    assert.ok(includes.length > 20 && reverse.length > 20)
    for (const [parameter, pairs] of Object.entries({ _include: includes, _revinclude: reverse }))
      for (const [type, value] of pairs) {
        const only = type === 'Patient' ? `_id=${patient.ehrId}` : `patient=${patient.ehrId}`
        const answer = await callFhir(patient, 'GET', `${type}?${only}&${parameter}=${value}&_count=1`)
        assert.equal(answer.status, 200, `${type} ${parameter}=${value}: ${JSON.stringify(answer.body)}`)
      }
  })
})

import assert from 'node:assert/strict'
import {
  createGoal,
  createPatient,
  createPlan,
  createTask,
  type Patient,
} from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { createPressureComposition, getStoredTemplate } from '../../harness/openehr-samples.ts'
import { createPerson, type Person } from '../../harness/people/people.ts'
import { callFhir, type Json } from '../fhir-client.ts'
import { createExamplesOfTypes, type TypeExample } from './examples-of-types.ts'

const NAME = 'Zebedee Quillfeather'

/** All references in a resource. */
const referencesIn = (value: unknown): string[] =>
  typeof value !== 'object' || value === null
    ? []
    : Object.entries(value).flatMap(([name, one]) =>
        name === 'reference' && typeof one === 'string' ? [one] : referencesIn(one),
      )

describe('an anonymous care plan in FHIR', function () {
  this.timeout(60_000)
  let patient: Patient
  let nurse: Person
  let examples: TypeExample[]
  before(async () => {
    ;[patient, nurse] = await Promise.all([createPatient(), createPerson()])
    assertStatus(await patient.call('PUT', `/profile/${patient.mvUid}`, { name: { displayName: NAME } }))
    const careplanId = await createPlan(patient, { anonymous: true })
    const goalId = await createGoal(patient, careplanId)
    const taskId = await createTask(patient, careplanId, goalId, { assignee: patient.mvUid })
    const template = await getStoredTemplate()
    const { compositionId } = assertStatus(
      await patient.call(
        'POST',
        `/med/ehr/${patient.ehrId}/composition/json?carePlanId=${careplanId}`,
        createPressureComposition(template, 142),
      ),
      201,
    )
    const body = { mvUid: nurse.mvUid, access: 'WRITE' }
    assertStatus(await patient.call('POST', `careplan/${careplanId}/participant`, body), 201)
    examples = await createExamplesOfTypes(patient, { careplanId, goalId, taskId, compositionId })
  })

  it('names its subject in no resource of any type, and refers to nobody whom the reader cannot list', async () => {
    const readTypes = new Set<string>()
    const checkedReferences = new Set<string>()
    for (const { type, id, query } of examples) {
      const paths = [
        ...(type.interactions.includes('search-type') ? [`${type.type}?${query}`, type.type] : []),
        ...(type.interactions.includes('read') ? [`${type.type}/${id}`] : []),
        ...(type.interactions.includes('vread') ? [`${type.type}/${id}/_history`] : []),
      ]
      for (const path of paths) {
        const { status, body } = await callFhir(nurse, 'GET', path)
        const text = JSON.stringify(body)
        for (const secret of [NAME, 'Quillfeather', patient.email, `Practitioner/${patient.mvUid}`])
          assert.ok(!text.includes(secret), `${path}: ${text.slice(0, 500)}`)
        if (status === 200) readTypes.add(type.type)
        for (const reference of new Set(referencesIn(body)))
          if (/^(Patient|Practitioner|CareTeam)\//.test(reference) && !checkedReferences.has(reference))
            assert.equal((await callFhir(nurse, 'GET', reference)).status, 200, `${path}: ${reference}`)
        for (const reference of referencesIn(body)) checkedReferences.add(reference)
      }
    }
    for (const type of [
      'Patient',
      'CarePlan',
      'CareTeam',
      'Task',
      'Communication',
      'Observation',
      'Provenance',
    ])
      assert.ok(readTypes.has(type), type)
  })

  it('does not find its subject by name or by user', async () => {
    const findEntries = async (path: string): Promise<Json[]> =>
      (await callFhir(nurse, 'GET', path)).body.entry ?? []
    assert.equal((await findEntries(`Patient?_id=${patient.ehrId}`)).length, 1)
    for (const query of [
      'Patient?name=Zebedee',
      `Patient?identifier=${patient.mvUid}`,
      `Practitioner?_id=${patient.mvUid}`,
      `RelatedPerson?patient=${patient.ehrId}`,
    ])
      assert.deepEqual(await findEntries(query), [], query)
  })
})

import assert from 'node:assert/strict'
import {
  addParticipant,
  createPatient,
  createPlan,
  createWeight,
  type Patient,
} from '../../harness/care/patients.ts'
import { createPerson, type Person } from '../../harness/people/people.ts'
import { idsIn, readFhir } from '../fhir-client.ts'

describe('a search in FHIR by a participant of several care plans', () => {
  let patient: Patient
  let nurse: Person
  const plans: string[] = []
  const weights: string[] = []
  before(async () => {
    patient = await createPatient()
    nurse = await createPerson()
    for (const weight of [70, 80, 90]) {
      const planId = await createPlan(patient)
      plans.push(planId)
      weights.push(await createWeight(patient, planId, weight))
    }
    for (const planId of plans.slice(0, 2)) await addParticipant(planId, nurse, 'read')
  })

  it('finds what belongs to the named plans only, as far as the participant may read it', async () => {
    const [first, second, closed] = plans
    const rows: [query: string, weights: (string | undefined)[]][] = [
      [`based-on=CarePlan/${first}`, [weights[0]]],
      [`based-on=${second}`, [weights[1]]],
      [`based-on=${first},${second}`, [weights[1], weights[0]]],
      [`based-on=${first}&based-on=${second}`, []],
      [`based-on=CarePlan/${closed}`, []],
      ['based-on=CarePlan/unknown123', []],
      ['based-on:missing=true', []],
      ['based-on:missing=false', [weights[1], weights[0]]],
    ]
    for (const [query, expected] of rows) {
      const bundle = await readFhir(nurse, `Observation?patient=${patient.ehrId}&_total=accurate&${query}`)
      assert.deepEqual([idsIn(bundle).sort(), bundle.total], [expected.toSorted(), expected.length], query)
    }
  })
})

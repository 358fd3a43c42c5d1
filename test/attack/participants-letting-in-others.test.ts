import { createPatient, createPlan } from '../harness/care/patients.ts'
import { assertProblem, assertStatus } from '../harness/clients/path-client.ts'
import { createPerson, type Person } from '../harness/people/people.ts'

/** A participant who may write a care plan tries to add accomplices, or to extend their own rights. */
describe('attack: a participant adds others', () => {
  for (const access of ['READ', 'WRITE'])
    it(`lets a participant with ${access} neither add, nor change, nor archive anybody, below either prefix`, async () => {
      const people = [createPerson(), createPerson(), createPerson()] as const
      const [patient, nurse, accomplice, colleague] = await Promise.all([createPatient(), ...people])
      const planId = await createPlan(patient)
      const add = (who: Person, of: Person, right: string, prefix = '/ehr') =>
        who.call('POST', `${prefix}/${patient.ehrId}/careplan/${planId}/participant`, {
          mvUid: of.mvUid,
          access: right,
        })
      const ownParticipationId = assertStatus(await add(patient, nurse, access), 201).participationId
      const other = assertStatus(await add(patient, colleague, 'READ'), 201).participationId
      for (const prefix of ['/ehr', '/med'])
        for (const right of ['READ', 'WRITE', 'MANAGE'])
          assertProblem(await add(nurse, accomplice, right, prefix), 403, 'forbidden')
      for (const id of [ownParticipationId, other]) {
        const path = `/ehr/${patient.ehrId}/careplan/${planId}/participant/${id}`
        assertProblem(await nurse.call('PUT', path, { access: 'MANAGE' }), 403, 'forbidden')
        assertProblem(await nurse.call('DELETE', path), 403, 'forbidden')
      }
      assertProblem(
        await accomplice.call('GET', `/ehr/${patient.ehrId}/careplan/${planId}`),
        404,
        'not-found',
      )
    })
})

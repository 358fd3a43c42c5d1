import { newPatient, newPlan } from '../harness/care/patients.ts'
import { ok, refused } from '../harness/clients/path-client.ts'
import { newPerson, type Person } from '../harness/people/people.ts'

/** Whoever may write a care plan lets accomplices in, or gives themselves more than the patient did. */
describe('attack: a participant lets in others', () => {
  for (const access of ['READ', 'WRITE'])
    it(`who may ${access}: they neither add, nor change, nor archive anybody, below either prefix`, async () => {
      const people = [newPerson(), newPerson(), newPerson()] as const
      const [patient, nurse, accomplice, colleague] = await Promise.all([newPatient(), ...people])
      const planId = await newPlan(patient)
      const add = (who: Person, of: Person, right: string, prefix = '/ehr') =>
        who.call('POST', `${prefix}/${patient.ehrId}/careplan/${planId}/participant`, {
          ...{ mvUid: of.mvUid, access: right },
        })
      const own = ok(await add(patient, nurse, access), 201).participationId
      const other = ok(await add(patient, colleague, 'READ'), 201).participationId
      for (const prefix of ['/ehr', '/med'])
        for (const right of ['READ', 'WRITE', 'MANAGE'])
          refused(await add(nurse, accomplice, right, prefix), 403, 'forbidden')
      for (const id of [own, other]) {
        const path = `/ehr/${patient.ehrId}/careplan/${planId}/participant/${id}`
        refused(await nurse.call('PUT', path, { access: 'MANAGE' }), 403, 'forbidden')
        refused(await nurse.call('DELETE', path), 403, 'forbidden')
      }
      refused(await accomplice.call('GET', `/ehr/${patient.ehrId}/careplan/${planId}`), 404, 'not-found')
    })
})

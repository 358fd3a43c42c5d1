import { createPatient } from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { createAdmin, createPerson } from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'
import type { Visitor } from './visitor.ts'

/** An administrator with something on each page, and nothing of other tests. */
export async function createAdministrator(): Promise<Visitor> {
  const [who, owner, patient] = await Promise.all([createAdmin(), createPerson(), createPatient()])
  await service.db.collection('ehr.removed').updateMany({}, { $set: { at: new Date(0) } })
  await service.db.collection('audit.verifications').deleteMany({})
  for (const { id } of assertStatus(await who.call('GET', '/auth/app')).items)
    assertStatus(await who.call('DELETE', `/auth/app/${id}`), 204)
  const app = { name: 'Blood pressure diary', authentication: 'secret', scopes: ['patient/Observation.rs'] }
  assertStatus(
    await who.call('POST', '/auth/app', { ...app, redirectUris: ['https://app.example.org/'] }),
    201,
  )
  for (const [one, name] of [
    [owner, 'Anna de Vries'],
    [patient, 'Bart Jansen'],
  ] as const)
    assertStatus(await one.call('PUT', `/auth/account/${one.mvUid}`, { name }))
  assertStatus(await patient.call('DELETE', `/med/ehr/${patient.ehrId}`), 204)
  return {
    who,
    pages: [
      ['accounts', `admin/accounts?email=${owner.email}`],
      ['account', `admin/accounts/${owner.mvUid}`],
      ['apps', 'admin/apps'],
      ['deleted records', 'admin/deleted'],
      ['service', 'admin/service'],
    ],
  }
}

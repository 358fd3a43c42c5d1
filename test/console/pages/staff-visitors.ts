import { createPatient } from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { createTemplateXml, sendXml } from '../../harness/openehr-samples.ts'
import { createAdmin, createPerson, createRoleHolder } from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'
import type { PageOfRole, Visitor } from './visitor.ts'

export const ADMINISTRATOR_PAGES: readonly PageOfRole[] = [
  ['accounts', 'admin/accounts', '{email}'],
  ['account', 'admin/accounts/{account}'],
  ['apps', 'admin/apps'],
  ['systems', 'admin/systems'],
  ['deleted records', 'admin/deleted'],
  ['service', 'admin/service'],
]

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
  await service.db.collection('ehr.systems').deleteMany({})
  const system = { name: 'Research', roles: ['analyst'] }
  assertStatus(await who.call('POST', '/auth/system', system), 201)
  for (const [one, name] of [
    [owner, 'Anna de Vries'],
    [patient, 'Bart Jansen'],
  ] as const)
    assertStatus(await one.call('PUT', `/auth/account/${one.mvUid}`, { name }))
  assertStatus(await patient.call('DELETE', `/med/ehr/${patient.ehrId}`), 204)
  return { who, ids: { email: owner.email, account: owner.mvUid } }
}

export const ANALYST_PAGES: readonly PageOfRole[] = [['queries', 'query']]

export const createAnalyst = async (): Promise<Visitor> => ({
  who: await createRoleHolder('analyst'),
  ids: {},
})

const TEMPLATE = 'Pressures on the pages'

export const MODELLER_PAGES: readonly PageOfRole[] = [
  ['types', 'types?find=steps_on_pages'],
  ['new data type', 'types/new/data'],
  ['new event type', 'types/new/event'],
  ['new device type', 'types/new/device'],
  ['type', 'types/data/steps_on_pages'],
  ['templates', `templates?find=${encodeURIComponent(TEMPLATE)}`],
  ['template', `templates/${encodeURIComponent(TEMPLATE)}`],
]

/** A modeller with a type and a template. */
export async function createModeller(): Promise<Visitor> {
  const who = await createRoleHolder('modeller')
  const steps = {
    type: 'steps_on_pages',
    name: 'Steps on the pages',
    schema: { type: 'integer', minimum: 0 },
  }
  const ranges = { hard: { min: 0, max: 200_000 } }
  assertStatus(await who.call('POST', '/data/type/data', { ...steps, unit: '{steps}', ranges }), 201)
  const xml = createTemplateXml(TEMPLATE)
  assertStatus(await sendXml(who, 'POST', '/med/knowledge/template', xml), 201)
  return { who, ids: {} }
}

import assert from 'node:assert/strict'
import { createPatient, createPlan, createWeight, type Patient } from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { createBackendService, createEhrOfSystem } from '../../harness/people/backend-services.ts'
import {
  type AppGrant,
  authorizeApp,
  createSmartApp,
  postForm,
  type SmartApp,
} from '../../harness/people/smart-apps.ts'
import { service } from '../../harness/service/service.ts'
import { waitUntil } from '../../harness/wait.ts'
import { startExport, waitForExport } from './bulk-export.ts'

const SCOPE = 'launch/patient patient/*.rs'

describe('the export of an app whose access has ended', function suite() {
  this.timeout(120_000)
  let patient: Patient
  let app: SmartApp
  before(async () => {
    patient = await createPatient()
    await createWeight(patient, await createPlan(patient))
    app = await createSmartApp(SCOPE.split(' '))
  })

  const admit = () => authorizeApp(patient, app, SCOPE, patient.ehrId)
  const stored = (name: string) => service.db.collection<{ _id: string }>(name)

  const jobEnd = (id: string) =>
    waitUntil(async () => (await stored('work.underway').findOne({ _id: `exportId$${id}` })) === null)

  /** Starts an export. @returns its id */
  const start = async (who: Pick<AppGrant, 'call'>) =>
    (await startExport(who, 'Patient/$export')).split('/').at(-1) ?? ''

  /** An export that is complete, and one that has just begun. */
  async function startTwo(who: Pick<AppGrant, 'call'>): Promise<string[]> {
    const complete = await start(who)
    await waitForExport(who, `export/${complete}`)
    return [complete, await start(who)]
  }

  /** An export that an instance has left in the middle, and that is resumed. */
  async function resume(_id: string): Promise<void> {
    const { userId } = (await stored('fhir.exports').findOne({ _id })) as unknown as { userId: string }
    const position = { patient: 0, section: 0, after: null }
    await stored('fhir.exports').updateOne({ _id }, { $set: { position } })
    await stored('work.underway').insertOne({
      _id: `exportId$${_id}`,
      job: 'exportFhir',
      field: 'exportId',
      id: _id,
      ehrId: '',
      by: { userId, application: app.name, requestId: 'resumed' },
      waiting: { readers: [], collections: [] },
      leaseUntil: new Date(0),
    } as { _id: string })
  }

  async function requireNothingLeft(ids: readonly string[]): Promise<void> {
    for (const id of ids) {
      await jobEnd(id)
      assert.equal(await stored('fhir.exports').findOne({ _id: id }), null)
      const chunks = await stored('fhir.export_chunks').countDocuments({
        _id: new RegExp(`^${id}/`) as never,
      })
      assert.equal(chunks, 0)
    }
  }

  for (const [what, end] of Object.entries<(admission: AppGrant) => Promise<unknown>>({
    'the app revokes its token': async ({ tokens: { access_token: token } }) =>
      assertStatus(await postForm('/auth/smart/revoke', { client_id: app.id, token })),
    'the person ends the admission': async () => {
      const { items } = assertStatus(await patient.call('GET', '/auth/admitted-app'))
      const { id } = items.toSorted((a: { createdAt: string }, b: { createdAt: string }) =>
        a.createdAt < b.createdAt ? 1 : -1,
      )[0]
      assertStatus(await patient.call('DELETE', `/auth/admitted-app/${id}`), 204)
    },
  }))
    it(`stops and leaves no files when ${what}, and those of another admission stay`, async () => {
      const other = await admit()
      const [otherId = ''] = await startTwo(other)
      const admission = await admit()
      const ids = await startTwo(admission)
      await end(admission)
      await requireNothingLeft(ids)
      assertStatus(await other.call('GET', `/fhir/R4/export/${otherId}/Observation.ndjson`))
      assertStatus(await other.call('DELETE', `/fhir/R4/export/${otherId}`), 202)
    })

  it('stops and leaves no files when an administrator removes the app, of a person or a system', async () => {
    const backend = await createBackendService(['system/*.rs'])
    await createEhrOfSystem(backend.system)
    const ofSystem = await startTwo({ call: await backend.logIn('system/*.rs') })
    const ofPerson = await startTwo(await admit())
    for (const { admin, id } of [backend.app, app])
      assertStatus(await admin.call('DELETE', `/auth/app/${id}`), 204)
    await requireNothingLeft([...ofSystem, ...ofPerson])
  })

  it('is not resumed after a new password, or when the system is locked out', async () => {
    const backend = await createBackendService(['system/*.rs'])
    const person = await createPatient()
    const ownApp = await createSmartApp(SCOPE.split(' '))
    const [ofPerson = '', ofSystem = ''] = await Promise.all([
      start(await authorizeApp(person, ownApp, SCOPE, person.ehrId)),
      start({ call: await backend.logIn('system/*.rs') }),
    ])
    for (const id of [ofPerson, ofSystem]) await jobEnd(id)
    const change = { currentPassword: person.password, newPassword: 'another horse battery staple' }
    assertStatus(await person.call('POST', '/auth/account/password/update', change), 204)
    assertStatus(await ownApp.admin.call('POST', `/auth/system/${backend.system.id}/revoke`), 204)
    for (const id of [ofPerson, ofSystem]) await resume(id)
    await requireNothingLeft([ofPerson, ofSystem])
  })
})

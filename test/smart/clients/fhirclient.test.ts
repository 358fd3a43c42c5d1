import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { bloodPressureOf, idsIn, type Json } from '../../fhir/fhir-client.ts'
import { createPatient, createPlan, type Patient } from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { createSmartApp, decide, openRequest, type SmartApp } from '../../harness/people/smart-apps.ts'
import { service } from '../../harness/service/service.ts'

/** The folder of the package, which .ci/fhirclient/check installs. */
const { FHIRCLIENT } = process.env

const SCOPES = ['launch', 'launch/patient', 'openid', 'fhirUser', 'offline_access', 'patient/*.cruds']
const WEEKS = 52

describe('fhirclient, the client of SMART', function suite() {
  this.timeout(120_000)
  let server: Server
  let patient: Patient
  let planId: string
  let app: SmartApp
  let url: string
  let ready: Json

  before(async function () {
    if (FHIRCLIENT === undefined) {
      console.error('Skipping fhirclient: FHIRCLIENT is not its folder.')
      return this.skip()
    }
    const smart = createRequire(import.meta.url)(FHIRCLIENT)
    const stored = new Map<string, unknown>()
    const storage = {
      get: async (key: string) => stored.get(key),
      set: async (key: string, value: unknown) => void stored.set(key, value),
      unset: async (key: string) => stored.delete(key),
    }
    server = createServer(async (request, response) => {
      const api = smart(request, response, storage)
      if (request.url?.startsWith('/launch')) {
        const scope = new URL(request.url, url).searchParams.has('launch')
          ? SCOPES.filter((one) => one !== 'launch/patient')
          : SCOPES.filter((one) => one !== 'launch')
        await api.authorize({
          clientId: app.id,
          scope: scope.join(' '),
          redirectUri: '/callback',
          pkceMode: 'required',
        })
      } else {
        ready = await api.ready().catch((error: unknown) => error)
        response.end()
      }
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    patient = await createPatient()
    planId = await createPlan(patient)
    app = await createSmartApp(SCOPES, { redirectUris: [`${url}/callback`], launchUrl: `${url}/launch` })
  })
  after(() => server?.close())

  /** Opens the launch address of the app, logs in and admits it. @returns its client */
  async function launch(address: string): Promise<Json> {
    const { headers } = await fetch(address, { redirect: 'manual' })
    const authorizeUrl = new URL(headers.get('location') ?? '')
    assert.equal(authorizeUrl.origin + authorizeUrl.pathname, `${service.url}/auth/smart/authorize`)
    const page = await openRequest(patient, Object.fromEntries(authorizeUrl.searchParams))
    const parameters = await decide(page, 'admit', patient.ehrId)
    await fetch(`${url}/callback?${parameters}`)
    assert.ok(ready.patient, String(ready))
    return ready
  }

  const pressureOn = (effectiveDateTime: string) =>
    bloodPressureOf(patient.ehrId, { effectiveDateTime, basedOn: [{ reference: `CarePlan/${planId}` }] })

  it('is launched alone and from an EHR, for the patient', async () => {
    const body = { appId: app.id, ehrId: patient.ehrId }
    const { launchUrl } = assertStatus(await patient.call('POST', '/auth/app-launch', body))
    for (const address of [`${url}/launch?iss=${service.url}/fhir/R4`, launchUrl]) {
      const client = await launch(address)
      assert.equal(client.patient.id, patient.ehrId)
      assert.equal((await client.patient.read()).id, patient.ehrId)
      assert.equal(client.user.fhirUser, `Patient/${patient.ehrId}`)
      assert.equal((await client.user.read()).id, patient.ehrId)
    }
  })

  it('stores a year of blood pressures in a transaction, reads it by pages, and renews its token', async () => {
    const client = await launch(`${url}/launch?iss=${service.url}/fhir/R4`)
    const days = Array.from({ length: WEEKS }, (_, week) =>
      new Date(Date.UTC(2025, 0, 1 + 7 * week)).toISOString(),
    )
    const entry = days.map((day) => ({
      request: { method: 'POST', url: 'Observation' },
      resource: pressureOn(day),
    }))
    const bundle = { resourceType: 'Bundle', type: 'transaction', entry }
    const headers = { 'content-type': 'application/json' }
    const stored = await client.request({ url: '/', method: 'POST', body: JSON.stringify(bundle), headers })
    assert.equal(stored.entry.length, WEEKS)
    const year = 'code=http://loinc.org|85354-9&date=ge2025-01-01&date=lt2026-01-01&_count=20'
    const pages: Json[] = []
    const onPage = (page: Json) => void pages.push(page)
    await client.request(`Observation?patient=${patient.ehrId}&${year}`, { pageLimit: 0, onPage })
    assert.deepEqual(
      pages.map((page) => idsIn(page).length),
      [20, 20, 12],
    )
    const former = client.state.tokenResponse.access_token
    await client.refresh()
    assert.notEqual(client.state.tokenResponse.access_token, former)
    assert.equal((await client.patient.read()).id, patient.ehrId)
  })

  it('creates a resource once under If-None-Exist, updates and deletes it', async () => {
    const client = await launch(`${url}/launch?iss=${service.url}/fhir/R4`)
    const condition = `patient=${patient.ehrId}&code=85354-9&date=2024-05-05`
    const create = () =>
      client.create(pressureOn('2024-05-05T08:00:00Z'), { headers: { 'If-None-Exist': condition } })
    const first = await create()
    const second = await create()
    assert.equal(second.id, first.id)
    const updated = await client.update({ ...first, effectiveDateTime: '2024-05-06T08:00:00Z' })
    assert.equal(updated.meta.versionId, '2')
    await client.delete(`Observation/${first.id}`)
    await assert.rejects(client.request(`Observation/${first.id}`), /Gone/)
  })
})

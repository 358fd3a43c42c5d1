import assert from 'node:assert/strict'
import { createPatient, type Patient } from '../harness/care/patients.ts'
import { assertStatus } from '../harness/clients/path-client.ts'
import {
  type BackendService,
  createBackendService,
  credentialsForm,
} from '../harness/people/backend-services.ts'
import { authorizationOf, createSmartApp, newVerifier, type SmartApp } from '../harness/people/smart-apps.ts'
import { startSecondInstance } from '../harness/service/second-instance.ts'
import { service } from '../harness/service/service.ts'
import { type ServiceProcess, stopProcess } from '../harness/service/service-process.ts'
import { waitUntil } from '../harness/wait.ts'

const SCOPES = ['launch/patient', 'patient/Observation.rs', 'offline_access']

const post = (url: string, path: string, form: Record<string, string>) =>
  fetch(url + path, { method: 'POST', body: new URLSearchParams(form), redirect: 'manual' })

describe('apps at several instances', function suite() {
  this.timeout(120_000)
  let patient: Patient
  let app: SmartApp
  let backend: BackendService
  let instance: ServiceProcess
  before(async () => {
    patient = await createPatient()
    app = await createSmartApp(SCOPES)
    backend = await createBackendService(['system/Patient.rs'])
    instance = await startSecondInstance({ INSTANCES: 'several' })
  })
  after(() => instance && stopProcess(instance))

  /** Logs in on the page of an instance. @returns the secret of the open request */
  async function openAt(url: string, verifier: string): Promise<string> {
    const { email, password } = patient
    const parameters = authorizationOf(app, SCOPES.join(' '), verifier)
    const page = await (await post(url, '/auth/smart/login', { ...parameters, email, password })).text()
    return /name="request" value="([^"]*)"/.exec(page)?.[1] ?? ''
  }

  /** @returns the code */
  async function decideAt(url: string, request: string): Promise<string> {
    const form = { request, decision: 'admit', patient: patient.ehrId }
    const { status, headers } = await post(url, '/auth/smart/decision', form)
    assert.equal(status, 303)
    return new URL(headers.get('location') ?? '').searchParams.get('code') ?? ''
  }

  const redeemAt = (url: string, code: string, verifier: string) =>
    post(url, '/auth/smart/token', {
      grant_type: 'authorization_code',
      client_id: app.id,
      redirect_uri: app.redirectUri,
      code,
      code_verifier: verifier,
    })

  const refreshAt = (url: string, token: string) =>
    post(url, '/auth/smart/token', { grant_type: 'refresh_token', client_id: app.id, refresh_token: token })

  const readAt = async (url: string, token: string): Promise<number> => {
    const headers = { authorization: `Bearer ${token}` }
    const path = `/fhir/R4/Observation?patient=${patient.ehrId}`
    return (await fetch(url + path, { headers })).status
  }

  interface Tokens {
    access_token: string
    refresh_token: string
  }
  const tokensOf = async (answer: Response): Promise<Tokens> => {
    assert.equal(answer.status, 200)
    return (await answer.json()) as Tokens
  }

  it('redeem the code of one instance at another, once, and a reuse ends the session at both', async () => {
    const verifier = newVerifier()
    const code = await decideAt(instance.url, await openAt(service.url, verifier))
    const { access_token, refresh_token } = await tokensOf(await redeemAt(service.url, code, verifier))
    for (const { url } of [service, instance]) assert.equal(await readAt(url, access_token), 200)
    assert.equal((await redeemAt(instance.url, code, verifier)).status, 400)
    for (const { url } of [service, instance])
      await waitUntil(async () => (await readAt(url, access_token)) === 401)
    assert.equal((await refreshAt(service.url, refresh_token)).status, 400)
  })

  it('redeem a code at most once of twenty requests at both instances', async () => {
    const verifier = newVerifier()
    const code = await decideAt(service.url, await openAt(instance.url, verifier))
    const urls = Array.from({ length: 20 }, (_, i) => (i % 2 ? service.url : instance.url))
    const answers = await Promise.all(urls.map((url) => redeemAt(url, code, verifier)))
    // The others end the access, often before its tokens are issued.
    const granted = answers.filter(({ status }) => status === 200)
    assert.ok(granted.length <= 1)
    for (const answer of granted) {
      const { access_token } = await tokensOf(answer)
      for (const { url } of [service, instance])
        await waitUntil(async () => (await readAt(url, access_token)) === 401)
    }
  })

  it('use an assertion once of twenty requests at both instances', async () => {
    const form = credentialsForm('system/Patient.rs', await backend.signer.sign(backend.app.id))
    const urls = Array.from({ length: 20 }, (_, i) => (i % 2 ? service.url : instance.url))
    const answers = await Promise.all(urls.map((url) => post(url, '/auth/smart/token', form)))
    assert.equal(answers.filter(({ status }) => status === 200).length, 1)
  })

  it('lose a backend service that another instance removes, although it calls without a pause', async () => {
    const { app, requestToken } = await createBackendService(['system/Patient.rs'])
    const token = assertStatus(await requestToken('system/Patient.rs')).access_token
    const read = async () =>
      (await fetch(`${instance.url}/fhir/R4/Patient`, { headers: { authorization: `Bearer ${token}` } }))
        .status
    assert.equal(await read(), 200)
    assertStatus(await app.admin.call('DELETE', `/auth/app/${app.id}`), 204)
    await waitUntil(async () => (await read()) === 401)
  })

  it('go on at another instance when theirs is killed between request, code and tokens', async () => {
    const requested = newVerifier()
    const coded = newVerifier()
    const redeemed = newVerifier()
    const { url } = instance
    const request = await openAt(url, requested)
    const code = await decideAt(url, await openAt(url, coded))
    const used = await decideAt(url, await openAt(url, redeemed))
    const tokens = await tokensOf(await redeemAt(url, used, redeemed))
    instance.child.kill('SIGKILL')
    await instance.ended

    const laterTokens = await tokensOf(
      await redeemAt(service.url, await decideAt(service.url, request), requested),
    )
    const middle = await tokensOf(await redeemAt(service.url, code, coded))
    for (const { access_token, refresh_token } of [laterTokens, middle, tokens]) {
      assert.equal(await readAt(service.url, access_token), 200)
      await tokensOf(await refreshAt(service.url, refresh_token))
    }
    assert.equal((await redeemAt(service.url, used, redeemed)).status, 400)
    await waitUntil(async () => (await readAt(service.url, tokens.access_token)) === 401)
    assert.equal(await readAt(service.url, middle.access_token), 200)
  })
})

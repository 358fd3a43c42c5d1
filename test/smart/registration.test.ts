import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from 'jose'
import { createPatient, createPlan, type Patient } from '../harness/care/patients.ts'
import { assertProblem, assertStatus } from '../harness/clients/path-client.ts'
import { createAdmin, createPerson, type Person } from '../harness/people/people.ts'
import {
  authorizationOf,
  createSmartApp,
  decide,
  newVerifier,
  openRequest,
  postForm,
  redeemCode,
  type SmartApp,
} from '../harness/people/smart-apps.ts'
import { service } from '../harness/service/service.ts'

const SCOPES = ['launch/patient', 'patient/Observation.rs']
const REDIRECT_URIS = ['https://app.example.org/callback']

const newApp = (more: object = {}) => ({
  name: `App ${randomUUID()}`,
  authentication: 'public',
  redirectUris: REDIRECT_URIS,
  scopes: SCOPES,
  ...more,
})

describe('the registration of apps', () => {
  let admin: Person
  let patient: Patient
  before(async () => {
    admin = await createAdmin()
    patient = await createPatient()
    await createPlan(patient)
  })

  const codeFor = async (app: SmartApp, verifier: string): Promise<string> => {
    const page = await openRequest(patient, authorizationOf(app, SCOPES.join(' '), verifier))
    return (await decide(page, 'admit', patient.ehrId)).get('code') ?? ''
  }

  it('is for administrators, who register each name once, change and remove apps', async () => {
    const person = await createPerson()
    assertProblem(await person.call('POST', '/auth/app', newApp()), 403, 'forbidden')
    assertProblem(await person.call('GET', '/auth/app'), 403, 'forbidden')
    const body = { ...newApp(), launchUrl: 'https://app.example.org/launch' }
    const { id } = assertStatus(await admin.call('POST', '/auth/app', body), 201)
    assertProblem(await admin.call('POST', '/auth/app', body), 409, 'conflict')
    const response = await admin.call('GET', `/auth/app/${id}`)
    assert.equal(assertStatus(response).launchUrl, body.launchUrl)
    const { items } = assertStatus(await admin.call('GET', '/auth/app?limit=1000'))
    assert.ok(items.some((one: { id: string }) => one.id === id))
    const changed = { ...body, scopes: ['patient/Condition.rs'] }
    assertStatus(await admin.call('PUT', `/auth/app/${id}`, changed, { 'if-match': response.etag }))
    assertProblem(
      await admin.call('PUT', `/auth/app/${id}`, changed, { 'if-match': response.etag }),
      412,
      'precondition-failed',
    )
    assertStatus(await admin.call('DELETE', `/auth/app/${id}`), 204)
    assertStatus(await admin.call('DELETE', `/auth/app/${id}`), 404)
  })

  it('refuses what would be dangerous or useless, each with its place', async () => {
    for (const [more, place] of [
      [{ redirectUris: ['http://app.example.org/callback'] }, 'body.redirectUris.0'],
      [{ redirectUris: ['https://app.example.org/#fragment'] }, 'body.redirectUris.0'],
      [{ redirectUris: ['https://a@app.example.org/'] }, 'body.redirectUris.0'],
      [{ redirectUris: ['javascript:alert(1)'] }, 'body.redirectUris.0'],
      [{ redirectUris: ['data:text/html,hello'] }, 'body.redirectUris.0'],
      [{ redirectUris: [] }, 'body.redirectUris'],
      [{ scopes: ['patient/Observation.everything'] }, 'body.scopes.0'],
      [{ scopes: ['patient/Observation.sr'] }, 'body.scopes.0'],
      [{ scopes: ['patient/Observation.rs?code=1'] }, 'body.scopes.0'],
      [{ scopes: ['patient/Observation.rs?category=a,b'] }, 'body.scopes.0'],
      [{ scopes: ['patient/Observation.rs?category=|a'] }, 'body.scopes.0'],
      [{ scopes: ['patient/Observation.rs?category=http://a.example|'] }, 'body.scopes.0'],
      [{ scopes: ['patient/Observation.rs?category=%E0'] }, 'body.scopes.0'],
      [{ scopes: ['system/Observation.rs'] }, 'body.scopes.0'],
      [{ authentication: 'key' }, 'body.jwks'],
      [{ launchUrl: 'http://app.example.org/launch' }, 'body.launchUrl'],
    ] as const) {
      const { status, body } = await admin.call('POST', '/auth/app', newApp(more))
      assert.equal(status, 422, JSON.stringify([more, body]))
      assert.deepEqual(
        body.errors.map(({ path }: { path: string }) => path),
        [place],
        JSON.stringify(more),
      )
    }
    for (const uri of ['http://127.0.0.1:8080/callback', 'org.example.app:/callback'])
      assertStatus(await admin.call('POST', '/auth/app', newApp({ redirectUris: [uri] })), 201)
  })

  it('shows a secret once, which the token endpoint demands until it is renewed', async () => {
    const app = await createSmartApp(SCOPES, { authentication: 'secret' })
    assert.ok(app.clientSecret)
    const { body } = await admin.call('GET', `/auth/app/${app.id}`)
    assert.ok(!('clientSecret' in body) && !('secretHash' in body))
    const stored = await service.db.collection('ehr.apps').findOne({ _id: app.id as never })
    assert.ok(!JSON.stringify(stored).includes(app.clientSecret))
    const verifier = newVerifier()
    for (const secret of ['wrong', undefined]) {
      const form = { grant_type: 'authorization_code', client_id: app.id, code: 'any' }
      const { status, body: refusal } = await postForm('/auth/smart/token', {
        ...form,
        ...(secret && { client_secret: secret }),
      })
      assert.deepEqual([status, refusal.error], [401, 'invalid_client'])
    }
    assertStatus(await redeemCode(app, await codeFor(app, verifier), verifier))
    const renewed = assertStatus(await admin.call('POST', `/auth/app/${app.id}/secret`))
    const code = await codeFor(app, verifier)
    assert.equal((await redeemCode(app, code, verifier)).status, 401)
    const basic = Buffer.from(`${app.id}:${renewed.clientSecret}`).toString('base64')
    const form = { code, redirect_uri: app.redirectUri, code_verifier: verifier }
    assertStatus(
      await postForm(
        '/auth/smart/token',
        { grant_type: 'authorization_code', ...form },
        { authorization: `Basic ${basic}` },
      ),
    )
  })

  it('refuses an app that authenticates in two ways, or with two ids', async () => {
    const app = await createSmartApp(SCOPES, { authentication: 'secret' })
    const other = await createSmartApp(SCOPES)
    const client_secret = app.clientSecret ?? ''
    const headers = {
      authorization: `Basic ${Buffer.from(`${app.id}:${client_secret}`).toString('base64')}`,
    }
    const ask = (path: string, more: Record<string, string>) =>
      postForm(path, { grant_type: 'refresh_token', refresh_token: 'any', token: 'any', ...more }, headers)
    for (const path of ['/auth/smart/token', '/auth/smart/introspect', '/auth/smart/revoke'])
      for (const more of [{ client_secret }, { client_assertion: 'any' }, { client_id: other.id }]) {
        const { status, body } = await ask(path, more)
        assert.deepEqual([status, body.error], [400, 'invalid_request'], path)
      }
    assertStatus(await ask('/auth/smart/introspect', { client_id: app.id }))
    const system = await ask('/auth/token', { grant_type: 'client_credentials', client_secret })
    assert.deepEqual([system.status, system.body.error], [400, 'invalid_request'])
  })

  describe('with keys', () => {
    for (const algorithm of ['ES384', 'RS384'])
      it(`lets an app prove who it is by an assertion, each once: ${algorithm}`, async () => {
        const { publicKey, privateKey } = await generateKeyPair(algorithm, { extractable: true })
        const key = { ...(await exportJWK(publicKey)), kid: 'k1', alg: algorithm }
        const app = await createSmartApp(SCOPES, { authentication: 'key', jwks: { keys: [key] } })
        const endpoint = `${service.url}/auth/smart/token`
        const sign = (more: { aud?: string; exp?: number; jti?: string; by?: CryptoKey } = {}) =>
          new SignJWT({ jti: more.jti ?? randomUUID() })
            .setProtectedHeader({ alg: algorithm, kid: 'k1', typ: 'JWT' })
            .setIssuer(app.id)
            .setSubject(app.id)
            .setAudience(more.aud ?? endpoint)
            .setExpirationTime(Math.floor(Date.now() / 1000) + (more.exp ?? 240))
            .sign(more.by ?? privateKey)
        const verifier = newVerifier()
        const redeem = async (assertion: string) =>
          redeemCode(app, await codeFor(app, verifier), verifier, {
            client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
            client_assertion: assertion,
          })
        const assertion = await sign()
        assertStatus(await redeem(assertion))
        const other = await generateKeyPair(algorithm)
        for (const bad of [
          assertion,
          await sign({ aud: 'https://other.example.org/token' }),
          await sign({ exp: 3600 }),
          await sign({ exp: -60 }),
          await sign({ by: other.privateKey }),
          'nonsense',
        ]) {
          const { status, body } = await redeem(bad)
          assert.deepEqual([status, body.error], [401, 'invalid_client'])
        }
        const { status } = await redeemCode(app, await codeFor(app, verifier), verifier)
        assert.equal(status, 401)
      })
  })
})

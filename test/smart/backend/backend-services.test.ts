import assert from 'node:assert/strict'
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { generateKeyPair } from 'jose'
import { resourceTypes } from '../../../fhir/resource-types.ts'
import { bloodPressureOf } from '../../fhir/fhir-client.ts'
import { createPatient, createPlan } from '../../harness/care/patients.ts'
import { assertStatus, call } from '../../harness/clients/path-client.ts'
import {
  type AssertionChange,
  assertionForm,
  type BackendService,
  createBackendService,
  createEhrOfSystem,
  createSigner,
  credentialsForm,
} from '../../harness/people/backend-services.ts'
import { createSmartApp, postForm, withToken } from '../../harness/people/smart-apps.ts'
import { service } from '../../harness/service/service.ts'

/** Keys that verify no assertion. */
const unusableKeys = (jwk: object): object[] => {
  const kid = 'k2'
  const rsa = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' })
  const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' })
  return [
    { ...jwk, y: 'AAAA'.repeat(16) },
    { ...jwk, x: 'AA' },
    { ...jwk, x: '!' },
    { ...jwk, crv: 'P-999' },
    { ...jwk, kty: 'oct' },
    { kty: 'EC', crv: 'P-384', kid },
    { ...rsa, kid, n: '!' },
    { ...rsa, kid },
    { ...p256, kid },
  ]
}

const SCOPES = ['system/*.cruds']
const TOKEN_PATH = '/auth/smart/token'

const fhirJson = (resource: object) => Buffer.from(JSON.stringify(resource))
const FHIR = { 'content-type': 'application/fhir+json' }

describe('a backend service', () => {
  let backend: BackendService
  let ehrId: string
  before(async () => {
    backend = await createBackendService(SCOPES)
    ehrId = await createEhrOfSystem(backend.system)
  })

  for (const algorithm of ['ES384', 'RS384'] as const)
    it(`gets tokens of five minutes, and no others, for an assertion signed by ${algorithm}`, async () => {
      const { requestToken } = await createBackendService(SCOPES, {}, await createSigner(algorithm))
      const { access_token, ...rest } = assertStatus(
        await requestToken('system/Patient.rs openid patient/*.rs'),
      )
      assert.deepEqual(rest, { token_type: 'Bearer', expires_in: 300, scope: 'system/Patient.rs' })
      const { exp, iat } = JSON.parse(Buffer.from(access_token.split('.')[1], 'base64url').toString())
      assert.equal(exp - iat, 300)
    })

  it('reads and writes the EHRs of its system, and the audit has its name', async () => {
    const as = await backend.logIn('system/*.cruds')
    const patients = assertStatus(await as('GET', '/fhir/R4/Patient'))
    assert.deepEqual(
      patients.entry.map(({ resource }: { resource: { id: string } }) => resource.id),
      [ehrId],
    )
    const plan = {
      resourceType: 'CarePlan',
      status: 'active',
      intent: 'plan',
      title: 'Follow-up',
      subject: { reference: `Patient/${ehrId}` },
    }
    const created = assertStatus(await as('POST', '/fhir/R4/CarePlan', fhirJson(plan), FHIR), 201)
    assert.ok(created.id)
    const pressure = fhirJson(bloodPressureOf(ehrId))
    const { id } = assertStatus(await as('POST', '/fhir/R4/Observation', pressure, FHIR), 201)
    assertStatus(await as('GET', `/fhir/R4/Observation/${id}`))
    const entries = await service.db
      .collection('audit.entries')
      .find({ ehrId, type: 'BloodPressure' })
      .sort({ at: 1 })
      .toArray()
    assert.deepEqual(
      entries.map(({ action, userId, application }) => [action, userId, application]),
      ['create', 'read'].map((action) => [action, backend.system.id, backend.app.name]),
    )
  })

  it('finds nothing of other EHRs, whatever it asks for', async () => {
    const as = await backend.logIn('system/*.cruds')
    const stranger = await createPatient()
    assertStatus(await as('GET', `/fhir/R4/Patient/${stranger.ehrId}`), 404)
    for (const { type, parameters } of resourceTypes) {
      const query = 'patient' in parameters ? `?patient=${stranger.ehrId}` : ''
      const { status, body } = await as('GET', `/fhir/R4/${type}${query}`)
      assert.ok(status < 500, type)
      if (query !== '') assert.deepEqual(body.entry ?? [], [], type)
    }
    const basedOn = [{ reference: `CarePlan/${await createPlan(stranger)}` }]
    const pressure = fhirJson(bloodPressureOf(stranger.ehrId, { basedOn }))
    assertStatus(await as('POST', '/fhir/R4/Observation', pressure, FHIR), 404)
  })

  it('does at most what its scopes name', async () => {
    const as = await backend.logIn('system/Observation.rs')
    assertStatus(await as('GET', `/fhir/R4/Observation?patient=${ehrId}`))
    for (const [method, path] of [
      ['GET', `/fhir/R4/Condition?patient=${ehrId}`],
      ['GET', `/fhir/R4/Patient/${ehrId}`],
      ['POST', '/fhir/R4/Observation'],
    ] as const) {
      const body = method === 'POST' ? fhirJson(bloodPressureOf(ehrId)) : undefined
      assertStatus(await as(method, path, body, body && FHIR), 403)
    }
    const { system } = backend
    for (const path of ['/ehr', '/auth/sessions', '/openehr/v1/definition/query', `/profile/${system.id}`])
      assertStatus(await as('GET', path), 403)
  })

  it('gets no scopes of people, nor any that are not registered', async () => {
    const { requestToken } = await createBackendService(['system/Observation.rs'])
    for (const scope of ['', 'patient/*.rs', 'user/Observation.rs', 'system/Condition.rs', 'openid'])
      assert.equal((await requestToken(scope)).body.error, 'invalid_scope', scope)
    assert.equal(assertStatus(await requestToken('system/*.cruds')).scope, 'system/Observation.rs')
  })

  it('loses its tokens with the key of its system, with its scopes, and with its registration', async () => {
    const ownService = await createBackendService(['system/Patient.rs', 'system/Observation.rs'])
    const { admin, id } = ownService.app
    const as = await ownService.logIn('system/Patient.rs system/Observation.rs')
    const registration = assertStatus(await admin.call('GET', `/auth/app/${id}`))
    const { id: _, createdAt: __, ...fields } = registration
    const fewer = { ...fields, scopes: ['system/Observation.rs'] }
    assertStatus(await admin.call('PUT', `/auth/app/${id}`, fewer))
    assertStatus(await as('GET', '/fhir/R4/Patient'), 403)
    assertStatus(await as('GET', '/fhir/R4/Observation'))
    assertStatus(await admin.call('POST', `/auth/system/${ownService.system.id}/key`))
    assertStatus(await as('GET', '/fhir/R4/Observation'), 401)
    const again = await ownService.logIn('system/Observation.rs')
    assertStatus(await again('GET', '/fhir/R4/Observation'))
    assertStatus(await admin.call('POST', `/auth/system/${ownService.system.id}/revoke`), 204)
    assertStatus(await again('GET', '/fhir/R4/Observation'), 401)
    assert.equal((await ownService.requestToken('system/Observation.rs')).body.error, 'unauthorized_client')
    const as2 = await backend.logIn('system/Patient.rs')
    assertStatus(await as2('GET', '/fhir/R4/Patient'))
    const removed = await createBackendService(['system/Patient.rs'])
    const as3 = await removed.logIn('system/Patient.rs')
    assertStatus(await admin.call('DELETE', `/auth/app/${removed.app.id}`), 204)
    assertStatus(await as3('GET', '/fhir/R4/Patient'), 401)
  })

  it('can introspect its token, but not revoke it', async () => {
    const token = assertStatus(await backend.requestToken('system/Patient.rs')).access_token
    const ask = async (path: string) =>
      postForm(path, { token, ...assertionForm(await backend.signer.sign(backend.app.id)) })
    const { active, sub, scope } = assertStatus(await ask('/auth/smart/introspect'))
    assert.deepEqual([active, sub, scope], [true, backend.system.id, 'system/Patient.rs'])
    const { status, body } = await ask('/auth/smart/revoke')
    assert.deepEqual([status, body.error], [400, 'unsupported_token_type'])
    assertStatus(await withToken(token)('GET', '/fhir/R4/Patient'))
  })

  describe('whose assertion', () => {
    const assertRefused = async (change: AssertionChange, of = backend) => {
      const { status, body } = await of.requestToken('system/Patient.rs', change)
      assert.deepEqual([status, body.error], [401, 'invalid_client'], JSON.stringify(change))
    }

    it('is used again gets no other token, also of twenty requests at once', async () => {
      const form = credentialsForm('system/Patient.rs', await backend.signer.sign(backend.app.id))
      const answers = await Promise.all(Array.from({ length: 20 }, () => postForm(TOKEN_PATH, form)))
      assert.deepEqual(answers.map(({ status }) => status).sort(), [
        200,
        ...Array.from({ length: 19 }, () => 401),
      ])
      const jti = randomUUID()
      assertStatus(await backend.requestToken('system/Patient.rs', { jti }))
      await assertRefused({ jti, exp: 120 })
    })

    it('may have an identifier that another app has used', async () => {
      const other = await createBackendService(SCOPES)
      const jti = randomUUID()
      for (const one of [backend, other]) assertStatus(await one.requestToken('system/Patient.rs', { jti }))
    })

    for (const [what, change] of Object.entries<AssertionChange>({
      'expires later than in five minutes': { exp: 330 },
      'has expired': { exp: -30 },
      'never expires': { exp: null },
      'has no identifier': { jti: null },
      'has a number as identifier': { jti: 7 },
      'is for the FHIR API instead of the token endpoint': { aud: 'http://127.0.0.1/fhir/R4' },
      'has another issuer': { iss: 'app-unknown123' },
      'has another subject': { sub: 'app-unknown123' },
      'names an address of keys in its header': { header: { jku: 'https://evil.example.org/jwks.json' } },
      'names an unknown key in its header': { header: { kid: 'other' } },
    }))
      it(`${what} gets no token`, () => assertRefused(change))

    it('is signed with another key gets no token', async () => {
      const { privateKey } = await generateKeyPair('ES384')
      await assertRefused({ by: privateKey })
    })

    it('is signed with the public key as a secret, or with another algorithm, gets no token', async () => {
      const secret = Buffer.from(JSON.stringify(backend.signer.jwk))
      await assertRefused({ by: secret, header: { alg: 'HS256' } })
      const { privateKey } = await generateKeyPair('ES256')
      await assertRefused({ by: privateKey, header: { alg: 'ES256' } })
    })

    it('is not signed gets no token', async () => {
      const [, payload] = (await backend.signer.sign(backend.app.id)).split('.')
      const header = Buffer.from(JSON.stringify({ alg: 'none', typ: 'JWT' })).toString('base64url')
      for (const assertion of [`${header}.${payload}.`, `${header}.${payload}`, '', 'a.b.c', '…']) {
        const { status } = await postForm(TOKEN_PATH, credentialsForm('system/Patient.rs', assertion))
        assert.ok([400, 401].includes(status), assertion)
      }
    })

    for (const iss of [{ $where: '1' }, { $regex: '(' }, { $gt: '' }, ['app'], 7, null])
      it(`has ${JSON.stringify(iss)} as issuer gets no token`, async () => {
        const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
        const assertion = `${encode({ alg: 'ES384' })}.${encode({ iss, sub: iss })}.AA`
        const { status, body } = await postForm(TOKEN_PATH, credentialsForm('system/Patient.rs', assertion))
        assert.deepEqual([status, body.error], [401, 'invalid_client'])
      })

    it('has another issuer than client_id says gets no token', async () => {
      const form = credentialsForm('system/Patient.rs', await backend.signer.sign(backend.app.id))
      const { status } = await postForm(TOKEN_PATH, { ...form, client_id: 'app-unknown123' })
      assert.equal(status, 401)
    })
  })

  it('needs a connected system: other apps get no token without a person', async () => {
    const app = await createSmartApp(['patient/*.rs'], { authentication: 'secret' })
    const form = { grant_type: 'client_credentials', client_id: app.id, scope: 'system/*.rs' }
    const { body } = await postForm(TOKEN_PATH, { ...form, client_secret: app.clientSecret ?? '' })
    assert.equal(body.error, 'unauthorized_client')
  })

  it('is registered with a known system and with keys, else each fault is named with its place', async () => {
    const { admin, system } = { ...backend, ...backend.app }
    const { jwk } = backend.signer
    const valid = { authentication: 'key', systemId: system.id, scopes: SCOPES, jwks: { keys: [jwk] } }
    const uri = 'https://app.example.org/jwks.json'
    for (const [change, ...places] of [
      [{ systemId: 'system-unknown123' }, 'systemId'],
      [{ systemId: undefined }, 'scopes.0'],
      [{ authentication: 'secret' }, 'authentication', 'jwks'],
      [{ scopes: ['patient/*.rs'] }, 'redirectUris', 'systemId'],
      [{ scopes: [...SCOPES, 'openid'] }, 'redirectUris'],
      [{ jwks: undefined }, 'jwks'],
      [{ jwksUri: uri }, 'jwks'],
      [{ jwks: undefined, jwksUri: 'http://127.0.0.1/jwks.json' }, 'jwksUri'],
      [{ jwks: undefined, jwksUri: 'https://a:b@app.example.org/jwks.json' }, 'jwksUri'],
      [{ jwks: undefined, jwksUri: `${uri}#k1` }, 'jwksUri'],
      [
        { jwks: { keys: [jwk, ...unusableKeys(jwk)] } },
        ...unusableKeys(jwk).map((_, i) => `jwks.keys.${i + 1}`),
      ],
    ] as const) {
      const body = { name: `App ${randomUUID()}`, ...valid, ...change }
      const answer = await admin.call('POST', '/auth/app', body)
      assertStatus(answer, 422)
      assert.deepEqual(
        answer.body.errors.map(({ path }: { path: string }) => path),
        places.map((place) => `body.${place}`),
      )
    }
    const byUri = { name: `App ${randomUUID()}`, ...valid, jwks: undefined, jwksUri: uri }
    assertStatus(await admin.call('POST', '/auth/app', byUri), 201)
  })

  it('finds the grant and the scopes where it looks for them', async () => {
    const { grant_types_supported, scopes_supported } = assertStatus(
      await call('GET', '/fhir/R4/.well-known/smart-configuration'),
    )
    assert.ok(grant_types_supported.includes('client_credentials'))
    assert.ok(scopes_supported.includes('system/*.rs'))
  })
})

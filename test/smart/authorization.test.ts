import assert from 'node:assert/strict'
import { addParticipant, createPatient, createPlan, type Patient } from '../harness/care/patients.ts'
import { assertStatus, call } from '../harness/clients/path-client.ts'
import {
  authorizationOf,
  authorizeApp,
  createSmartApp,
  decide,
  newVerifier,
  openRequest,
  postForm,
  redeemCode,
  type SmartApp,
  withToken,
} from '../harness/people/smart-apps.ts'
import { service } from '../harness/service/service.ts'

const SCOPES = ['launch/patient', 'patient/Observation.rs', 'openid', 'fhirUser', 'offline_access']

describe('the authorization of apps', () => {
  let patient: Patient
  let app: SmartApp
  let planId: string
  before(async () => {
    patient = await createPatient()
    planId = await createPlan(patient)
    app = await createSmartApp(SCOPES)
  })

  const startWith = (change: Record<string, string | undefined>, of = app) => {
    const parameters = { ...authorizationOf(of, SCOPES.join(' '), newVerifier()), ...change }
    const entries = Object.entries(parameters).filter(([, value]) => value !== undefined) as [
      string,
      string,
    ][]
    return call('GET', `/auth/smart/authorize?${new URLSearchParams(entries)}`)
  }

  it('gives an app a code for its tokens, with the patient and who the user is', async () => {
    const { tokens, call: callAs } = await authorizeApp(patient, app, SCOPES.join(' '), patient.ehrId)
    assert.deepEqual(tokens.scope.split(' ').sort(), [...SCOPES].sort())
    assert.equal(tokens.patient, patient.ehrId)
    assert.equal(Number(tokens.expires_in), 3600)
    const claims = JSON.parse(Buffer.from(tokens.id_token?.split('.')[1] ?? '', 'base64url').toString())
    assert.deepEqual([claims.aud, claims.sub], [app.id, patient.mvUid])
    assert.ok(claims.fhirUser.startsWith(`${service.url}/fhir/R4/Patient/`))
    assertStatus(await callAs('GET', claims.fhirUser.slice(service.url.length)))
    for (const path of ['Patient', `Patient/${(await createPatient()).ehrId}`])
      assertStatus(await callAs('GET', `/fhir/R4/${path}`), 403)
    assertStatus(await callAs('GET', `/fhir/R4/Observation?patient=${patient.ehrId}`))
    const { items } = assertStatus(await patient.call('GET', 'audit'))
    assert.ok(items.some((entry: { application: string }) => entry.application === app.name))
  })

  it('lets an app read who the user is, in addition to the patient of somebody else', async () => {
    const nurse = await createPatient()
    await addParticipant(planId, nurse, 'read')
    const allScopes = ['launch/patient', 'patient/Patient.rs', 'openid', 'fhirUser']
    const { tokens, call: callAs } = await authorizeApp(
      nurse,
      await createSmartApp(allScopes),
      allScopes.join(' '),
      patient.ehrId,
    )
    const claims = JSON.parse(Buffer.from(tokens.id_token?.split('.')[1] ?? '', 'base64url').toString())
    assertStatus(await callAs('GET', claims.fhirUser.slice(service.url.length)))
    assertStatus(await callAs('GET', `/fhir/R4/Patient/${patient.ehrId}`))
    const { entry } = assertStatus(await callAs('GET', '/fhir/R4/Patient'))
    assert.deepEqual(
      entry.map(({ resource }: { resource: { id: string } }) => resource.id),
      [patient.ehrId],
    )
  })

  it('sends nobody to an address that is not registered for the app', async () => {
    for (const change of [
      { redirect_uri: 'https://evil.example.org/callback' },
      { redirect_uri: `${app.redirectUri}/more` },
      { redirect_uri: undefined },
      { client_id: 'app-unknown123' },
    ]) {
      const answer = await startWith(change)
      assert.equal(answer.headers.get('location'), null)
      assert.match(assertStatus(answer), /not registered/)
    }
  })

  it('sends a program to any port of its own computer, and only there', async () => {
    const redirectUris = [
      'http://127.0.0.1/callback',
      'http://[::1]:3000/callback',
      'http://localhost:3000/x',
    ]
    const program = await createSmartApp(SCOPES, { redirectUris })
    for (const redirectUri of ['http://127.0.0.1:51004/callback', 'http://[::1]/callback'])
      await authorizeApp(patient, { ...program, redirectUri }, SCOPES.join(' '), patient.ehrId)
    for (const redirect_uri of [
      'http://127.0.0.1:51004/other',
      'http://127.0.0.1:99999/callback',
      'http://127.0.0.1:80@evil.example.org/callback',
      'http://127.0.0.2:51004/callback',
      'https://127.0.0.1:51004/callback',
      'http://localhost:51004/x',
    ])
      assert.match(assertStatus(await startWith({ redirect_uri }, program)), /not registered/, redirect_uri)
    const web = { redirect_uri: app.redirectUri.replace('org/', 'org:8443/') }
    assert.match(assertStatus(await startWith(web)), /not registered/)
  })

  it('tells the app what is wrong with its request, and gives back the state', async () => {
    for (const [change, error] of [
      [{ response_type: 'token' }, 'unsupported_response_type'],
      [{ response_type: undefined }, 'invalid_request'],
      [{ response_type: '' }, 'invalid_request'],
      [{ nonce: 'n'.repeat(501) }, 'invalid_request'],
      [{ scope: 'x'.repeat(4001) }, 'invalid_request'],
      [{ launch: 'é' }, 'invalid_request'],
      [{ prompt: 'none' }, 'login_required'],
      [{ request: 'eyJ' }, 'request_not_supported'],
      [{ request_uri: 'https://app.example.org/request' }, 'request_uri_not_supported'],
      [{ aud: 'https://other.example.org/fhir' }, 'invalid_request'],
      [{ aud: undefined }, 'invalid_request'],
      [{ code_challenge: undefined, code_challenge_method: undefined }, 'invalid_request'],
      [{ code_challenge_method: 'plain' }, 'invalid_request'],
      [{ code_challenge: 'short' }, 'invalid_request'],
      [{ scope: 'patient/Condition.rs' }, 'invalid_scope'],
    ] as const) {
      const { status, headers } = await startWith({ ...change, state: 'a state' })
      assert.equal(status, 303)
      const { origin, searchParams } = new URL(headers.get('location') ?? '')
      assert.deepEqual(
        [origin, searchParams.get('error'), searchParams.get('state'), searchParams.get('iss')],
        ['https://app.example.org', error, 'a state', service.url],
        JSON.stringify(change),
      )
    }
  })

  const sendTo = (of: SmartApp, more: string[][]) => {
    const parameters = new URLSearchParams(authorizationOf(of, SCOPES.join(' '), newVerifier()))
    parameters.delete('state')
    for (const [name = '', value = ''] of more) parameters.append(name, value)
    return call('GET', `/auth/smart/authorize?${parameters}`, undefined, { accept: 'text/html' })
  }

  it('tells the app that a parameter is not valid or occurs twice, without a state that it cannot give back', async () => {
    for (const more of [
      [['state', 'a'.repeat(1001)]],
      [['state', 'é']],
      [
        ['state', 'one'],
        ['state', 'two'],
      ],
      [['scope', 'openid']],
      [['code_challenge', 'a']],
    ]) {
      const { status, headers } = await sendTo(app, more)
      assert.equal(status, 303, JSON.stringify(more))
      const { origin, searchParams } = new URL(headers.get('location') ?? '')
      assert.equal(origin, 'https://app.example.org')
      assert.deepEqual([searchParams.get('error'), searchParams.get('state')], ['invalid_request', null])
      assert.match(searchParams.get('error_description') ?? '', new RegExp(more[0]?.[0] ?? ''))
    }
  })

  it('shows a page when the app or its address is in doubt, or the service refuses', async () => {
    for (const more of [
      [['client_id', app.id]],
      [['redirect_uri', app.redirectUri]],
      [['redirect_uri', 'https://evil.example.org/']],
    ]) {
      const answer = await sendTo(app, more)
      assert.equal(answer.headers.get('location'), null)
      assert.match(assertStatus(answer), /not registered/)
    }
    const accept = 'text/html,*/*;q=0.8'
    for (const [method, path, body, status] of [
      ['GET', '/auth/smart/login', undefined, 405],
      ['POST', '/auth/smart/login', {}, 415],
      ['GET', '/auth/link?lang=en&lang=nl', undefined, 400],
      ['POST', '/auth/link', {}, 415],
    ] as const) {
      const answer = await call(method, path, body, { accept, 'accept-language': 'nl' })
      assert.match(assertStatus(answer, status), /<h1>Er ging iets mis<.h1>/, path)
      assert.match(answer.headers.get('content-type') ?? '', /^text\/html/)
      const asProgram = await call(method, path, body)
      assert.equal(assertStatus(asProgram, status).status, status)
    }
  })

  it('refuses the app if the form of the page is incomplete, and ignores parameters without a value', async () => {
    const parameters = { ...authorizationOf(app, SCOPES.join(' '), newVerifier()), state: '', lang: '' }
    const page = await openRequest(patient, parameters)
    assert.deepEqual([...(await decide(page, 'admit', 'é'.repeat(65))).keys()], ['error', 'iss'])
    const again = await openRequest({ ...patient, email: 'a'.repeat(321) }, parameters)
    assert.match(again, /The login failed/)
    assert.match(assertStatus(await postForm('/auth/smart/decision', { request: 'é' })), /expired/)
  })

  it('gives back neither state nor nonce to an app that has sent none', async () => {
    const verifier = newVerifier()
    const { state: _, ...parameters } = authorizationOf(app, SCOPES.join(' '), verifier)
    const received = await decide(await openRequest(patient, parameters), 'admit', patient.ehrId)
    assert.deepEqual([...received.keys()].sort(), ['code', 'iss'])
    const { id_token } = assertStatus(await redeemCode(app, received.get('code') ?? '', verifier))
    const claims = JSON.parse(Buffer.from(id_token.split('.')[1], 'base64url').toString())
    assert.ok(!('nonce' in claims))
  })

  it('gives at most the scopes that are registered', async () => {
    const scope = 'launch/patient patient/*.cruds patient/Condition.rs user/Observation.rs unknown'
    const { tokens } = await authorizeApp(patient, app, scope, patient.ehrId)
    assert.deepEqual(tokens.scope.split(' '), ['launch/patient', 'patient/Observation.rs'])
    assert.ok(!('refresh_token' in tokens) && !('id_token' in tokens))
  })

  it('tells the app that the person has refused, or chosen a record of somebody else', async () => {
    const stranger = await createPatient()
    for (const [decision, ehrId] of [
      ['refuse', patient.ehrId],
      ['admit', stranger.ehrId],
      ['admit', undefined],
    ] as const) {
      const page = await openRequest(patient, authorizationOf(app, SCOPES.join(' '), newVerifier()))
      const parameters = await decide(page, decision, ehrId)
      assert.deepEqual([parameters.get('error'), parameters.get('code')], ['access_denied', null])
    }
  })

  it('asks again after a wrong password, and takes each decision once', async () => {
    const parameters = authorizationOf(app, SCOPES.join(' '), newVerifier())
    const again = await openRequest({ ...patient, password: 'wrong' }, parameters)
    assert.match(again, /The login failed/)
    const page = await openRequest(patient, parameters)
    assert.ok((await decide(page, 'admit', patient.ehrId)).get('code'))
    const [, request = ''] = /name="request" value="([^"]*)"/.exec(page) ?? []
    const repeated = await postForm('/auth/smart/decision', { request, decision: 'admit' })
    assert.match(assertStatus(repeated), /expired/)
  })

  it('lists the patients whom the person may open, by names that the person may know', async () => {
    const nurse = await createPatient()
    await addParticipant(planId, nurse, 'read')
    const page = await openRequest(nurse, authorizationOf(app, SCOPES.join(' '), newVerifier()))
    const patientIds = [...page.matchAll(/name="patient" value="([^"]*)"/g)].map(([, id]) => id)
    assert.deepEqual(patientIds.sort(), [nurse.ehrId, patient.ehrId].sort())
  })

  it('exchanges a code once, for the app and the secret that it belongs to', async () => {
    const other = await createSmartApp(SCOPES)
    const codeFor = async (verifier: string) => {
      const page = await openRequest(patient, authorizationOf(app, SCOPES.join(' '), verifier))
      return (await decide(page, 'admit', patient.ehrId)).get('code') ?? ''
    }
    const verifier = newVerifier()
    for (const more of [
      { code_verifier: newVerifier() },
      { code_verifier: '' },
      { redirect_uri: 'https://other.example.org/' },
      { client_id: other.id },
    ]) {
      const { status, body } = await redeemCode(app, await codeFor(verifier), verifier, more)
      assert.deepEqual([status, body.error], [400, 'invalid_grant'], JSON.stringify(more))
    }
    const code = await codeFor(verifier)
    const { access_token } = assertStatus(await redeemCode(app, code, verifier))
    const path = `/fhir/R4/Observation?patient=${patient.ehrId}`
    assertStatus(await withToken(access_token)('GET', path))
    assert.equal((await redeemCode(app, code, verifier)).body.error, 'invalid_grant')
    assertStatus(await withToken(access_token)('GET', path), 401)
  })

  it('exchanges a code within a minute', async () => {
    const ownApp = await createSmartApp(SCOPES)
    const verifier = newVerifier()
    const page = await openRequest(patient, authorizationOf(ownApp, SCOPES.join(' '), verifier))
    const code = (await decide(page, 'admit', patient.ehrId)).get('code') ?? ''
    const codes = service.db.collection('auth.app_codes')
    const stored = await codes.findOne({ appId: ownApp.id })
    assert.ok(stored && stored.validUntil.getTime() - Date.now() <= 60_000)
    await codes.updateOne({ appId: ownApp.id }, { $set: { validUntil: new Date() } })
    assert.equal((await redeemCode(ownApp, code, verifier)).body.error, 'invalid_grant')
  })

  const moveApp = async ({ id, admin }: SmartApp) => {
    const registration = assertStatus(await admin.call('GET', `/auth/app/${id}`))
    const { id: _, createdAt: __, ...fields } = registration
    const moved = { ...fields, redirectUris: ['https://moved.example.org/callback'] }
    assertStatus(await admin.call('PUT', `/auth/app/${id}`, moved))
  }

  const ends: [what: string, end: (person: Patient, own: SmartApp) => Promise<unknown>][] = [
    [
      'the account is disabled',
      ({ mvUid }, { admin }) => admin.call('PUT', `/auth/account/${mvUid}`, { disabled: true }),
    ],
    [
      'the password has changed',
      ({ password, call: callAs }) =>
        callAs('POST', '/auth/account/password/update', {
          currentPassword: password,
          newPassword: 'another horse battery staple',
        }),
    ],
    [
      'the person has ended the access',
      async (person) => {
        const { items } = assertStatus(await person.call('GET', '/auth/admitted-app'))
        assertStatus(await person.call('DELETE', `/auth/admitted-app/${items[0].id}`), 204)
      },
    ],
    ['the address of the app is removed', (_, own) => moveApp(own)],
  ]
  for (const [what, end] of ends)
    it(`gives no tokens for a code when ${what}`, async () => {
      const person = await createPatient()
      const ownApp = await createSmartApp(SCOPES)
      const verifier = newVerifier()
      const page = await openRequest(person, authorizationOf(ownApp, SCOPES.join(' '), verifier))
      const code = (await decide(page, 'admit', person.ehrId)).get('code') ?? ''
      await end(person, ownApp)
      const { status, body } = await redeemCode(ownApp, code, verifier)
      assert.deepEqual([status, body.error], [400, 'invalid_grant'])
    })

  it('leads to no address that was removed before the decision', async () => {
    const ownApp = await createSmartApp(SCOPES)
    const page = await openRequest(patient, authorizationOf(ownApp, SCOPES.join(' '), newVerifier()))
    await moveApp(ownApp)
    const [, request = ''] = /name="request" value="([^"]*)"/.exec(page) ?? []
    const answer = await postForm('/auth/smart/decision', {
      request,
      decision: 'admit',
      patient: patient.ehrId,
    })
    assert.match(assertStatus(answer), /expired/)
  })

  it('lets at most one of twenty exchanges of a code at once succeed', async () => {
    const verifier = newVerifier()
    const page = await openRequest(patient, authorizationOf(app, SCOPES.join(' '), verifier))
    const code = (await decide(page, 'admit', patient.ehrId)).get('code') ?? ''
    const answers = await Promise.all(Array.from({ length: 20 }, () => redeemCode(app, code, verifier)))
    const refusals = answers.filter(({ status }) => status !== 200)
    assert.ok(refusals.length >= 19)
    for (const { status, body } of refusals) assert.deepEqual([status, body.error], [400, 'invalid_grant'])
  })

  it('is described where apps look for it, for pages of every origin', async () => {
    const { body, headers } = await call('GET', '/fhir/R4/.well-known/smart-configuration', undefined, {
      origin: 'https://anywhere.example.org',
    })
    assert.equal(headers.get('access-control-allow-origin'), '*')
    assert.deepEqual(body.code_challenge_methods_supported, ['S256'])
    assert.equal(body.authorization_endpoint, `${service.url}/auth/smart/authorize`)
    assert.ok(body.capabilities.includes('permission-v2') && body.capabilities.includes('launch-ehr'))
    const { rest } = assertStatus(await call('GET', '/fhir/R4/metadata'))
    const { security } = rest[0]
    assert.equal(security.service[0].coding[0].code, 'SMART-on-FHIR')
    const [{ extension }] = security.extension
    assert.deepEqual(extension.slice(0, 2), [
      { url: 'authorize', valueUri: body.authorization_endpoint },
      { url: 'token', valueUri: body.token_endpoint },
    ])
    const openId = assertStatus(await call('GET', '/.well-known/openid-configuration'))
    assert.equal(openId.issuer, body.issuer)
  })

  it('shows its metadata and keys to pages of every origin, whatever media type they accept', async () => {
    for (const path of [
      '/fhir/R4/.well-known/smart-configuration',
      '/.well-known/openid-configuration',
      '/.well-known/openid-configuration/',
      '/auth/login/jwks',
    ])
      for (const accept of [
        'application/fhir+json',
        'text/html',
        'application/xml',
        'application/jwk-set+json',
      ]) {
        const headers = { accept, origin: 'https://anywhere.example.org' }
        const answer = await call('GET', path, undefined, headers)
        assert.equal(typeof assertStatus(answer), 'object', `${path} as ${accept}`)
        assert.match(answer.headers.get('content-type') ?? '', /^application\/json/)
        assert.equal(answer.headers.get('access-control-allow-origin'), '*')
        assert.equal(answer.headers.get('access-control-allow-credentials'), null)
      }
  })

  it('lets pages of registered apps call the FHIR API and get tokens, without cookies', async () => {
    const preflight = (path: string, origin: string) =>
      call('OPTIONS', path, undefined, {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization',
      })
    for (const path of ['/fhir/R4/Observation', '/auth/smart/token', '/auth/smart/revoke']) {
      const { headers } = await preflight(path, 'https://app.example.org')
      assert.equal(headers.get('access-control-allow-origin'), 'https://app.example.org', path)
      assert.equal(headers.get('access-control-allow-credentials'), null)
      const stranger = await preflight(path, 'https://evil.example.org')
      assert.equal(stranger.headers.get('access-control-allow-origin'), null, path)
    }
    const { headers } = await preflight('/auth/sessions', 'https://app.example.org')
    assert.equal(headers.get('access-control-allow-origin'), null)
    const ownAnswer = await call('GET', '/fhir/R4/Patient', undefined, { origin: 'https://app.example.org' })
    const exposed = ownAnswer.headers.get('access-control-expose-headers')?.split(',') ?? []
    for (const name of ['Content-Location', 'ETag', 'Location', 'Retry-After', 'X-Progress'])
      assert.ok(exposed.includes(name), name)
  })
})

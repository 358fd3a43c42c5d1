import assert from 'node:assert/strict'
import { createPatient, createPlan, type Patient } from '../harness/care/patients.ts'
import { assertProblem, assertStatus, call } from '../harness/clients/path-client.ts'
import {
  type AppGrant,
  authorizeApp,
  createSmartApp,
  postForm,
  type SmartApp,
  withToken,
} from '../harness/people/smart-apps.ts'
import { service } from '../harness/service/service.ts'

const SCOPES = 'launch/patient patient/Observation.rs offline_access'

describe('the tokens of apps', () => {
  let patient: Patient
  let app: SmartApp
  before(async () => {
    patient = await createPatient()
    await createPlan(patient)
    app = await createSmartApp([...SCOPES.split(' '), 'online_access', 'openid', 'fhirUser'])
  })

  const authorize = (scope = SCOPES) => authorizeApp(patient, app, scope, patient.ehrId)
  const read = (token: string) => withToken(token)('GET', `/fhir/R4/Observation?patient=${patient.ehrId}`)
  const refresh = (refreshToken: string | undefined, more: object = {}) =>
    postForm('/auth/smart/token', {
      grant_type: 'refresh_token',
      client_id: app.id,
      refresh_token: refreshToken ?? '',
      ...more,
    })

  it('are renewed once, and equally for requests at the same time', async () => {
    const { tokens } = await authorize()
    const answers = await Promise.all([refresh(tokens.refresh_token), refresh(tokens.refresh_token)])
    const [first, second] = answers.map((one) => assertStatus(one))
    assert.equal(first.refresh_token, second.refresh_token)
    assert.notEqual(first.refresh_token, tokens.refresh_token)
    assert.equal(first.patient, patient.ehrId)
    assertStatus(await read(first.access_token))
  })

  it('are renewed without the id of a public app, but not without the secret of another one', async () => {
    const { tokens } = await authorize()
    const form = (token: string | undefined) => ({ grant_type: 'refresh_token', refresh_token: token ?? '' })
    const renewed = assertStatus(await postForm('/auth/smart/token', form(tokens.refresh_token)))
    assertStatus(await read(renewed.access_token))
    const secret = await createSmartApp(SCOPES.split(' '), { authentication: 'secret' })
    const grant = await authorizeApp(patient, secret, SCOPES, patient.ehrId)
    for (const token of [grant.tokens.refresh_token, 'invented', undefined]) {
      const { status, body } = await postForm('/auth/smart/token', form(token))
      assert.deepEqual([status, body.error], [401, 'invalid_client'])
    }
    assertStatus(await read(grant.tokens.access_token))
  })

  it('are not kept by caches, and are renewed with parameters that have no value', async () => {
    const { tokens } = await authorize()
    const renewed = await refresh(tokens.refresh_token, { scope: '', client_secret: '', code: '' })
    assert.equal(assertStatus(renewed).scope, tokens.scope)
    assert.deepEqual(
      ['cache-control', 'pragma'].map((name) => renewed.headers.get(name)),
      ['no-store', 'no-cache'],
    )
    const { body } = await refresh('invented', { client_id: app.id })
    assert.deepEqual(body, {
      error: 'invalid_grant',
      error_description: 'The refresh token is invalid or has expired.',
    })
  })

  it('are renewed with fewer scopes, but not with more', async () => {
    const { tokens } = await authorize()
    const fewer = assertStatus(await refresh(tokens.refresh_token, { scope: 'patient/Observation.r' }))
    assert.equal(fewer.scope, 'patient/Observation.r')
    const refused = await read(fewer.access_token)
    assertStatus(refused, 403)
    assert.match(refused.headers.get('www-authenticate') ?? '', /^Bearer .*error="insufficient_scope"$/)
    const more = await refresh(fewer.refresh_token, { scope: 'patient/Condition.rs' })
    assert.deepEqual([more.status, more.body.error], [400, 'invalid_scope'])
    await service.db
      .collection('auth.app_refresh_tokens')
      .updateMany({ usedAt: { $exists: true } }, { $set: { usedAt: new Date(Date.now() - 10_001) } })
    assertStatus(await refresh(fewer.refresh_token))
  })

  it('can be renewed by no other app, which ends them', async () => {
    const other = await createSmartApp(SCOPES.split(' '))
    const { tokens } = await authorize()
    assert.equal((await refresh(tokens.refresh_token, { client_id: other.id })).body.error, 'invalid_grant')
    assertStatus(await read(tokens.access_token), 401)
  })

  it('last an hour without offline_access and online_access', async () => {
    const { tokens } = await authorize('launch/patient patient/Observation.rs')
    assert.equal(tokens.refresh_token, undefined)
    const { items } = assertStatus(await patient.call('GET', '/auth/admitted-app?limit=1000'))
    const left = items.map(({ expiresAt }: { expiresAt: string }) => Date.parse(expiresAt) - Date.now())
    assert.ok(left.some((ms: number) => ms > 3_590_000 && ms <= 3_660_000))
    const { tokens: online } = await authorize('launch/patient patient/Observation.rs online_access')
    assert.ok(online.refresh_token)
  })

  it('work below /fhir/R4 only', async () => {
    const { tokens, call: callAs } = await authorize()
    const plans = `/ehr/${patient.ehrId}/careplan`
    for (const path of [plans, '/auth/sessions', '/auth/admitted-app', '/openehr/v1/query/aql?q=x'])
      assert.equal((await callAs('GET', path)).status, 403, path)
    const { body } = await callAs('GET', plans)
    assert.equal(body.detail, 'Apps can use the FHIR API only.')
    assertProblem(
      await call('POST', '/auth/login/token', { refreshToken: tokens.refresh_token }),
      401,
      'unauthenticated',
    )
    assertStatus(
      await call('GET', '/1/users/me', undefined, {
        ...patient.headers,
        'x-parse-session-token': tokens.access_token,
      }),
      401,
    )
  })

  it('are refused with the code of OAuth when they are invalid, but not when they are missing', async () => {
    for (const path of ['/fhir/R4/Observation', '/openehr/v1/definition/query', '/auth/sessions'])
      for (const [headers, hasCode] of [
        [{}, false],
        [{ authorization: 'Bearer invented' }, true],
      ] as const) {
        const answer = await call('GET', path, undefined, headers)
        assertStatus(answer, 401)
        const challenge = answer.headers.get('www-authenticate') ?? ''
        assert.equal(/^Bearer realm=".*", error="invalid_token"$/.test(challenge), hasCode, challenge)
      }
  })

  it('leave those of the path family as they were', async () => {
    assertStatus(await read(patient.authToken))
  })

  it('are described to their app, and to no other one', async () => {
    const { tokens } = await authorize(`${SCOPES} openid fhirUser`)
    const other = await createSmartApp(SCOPES.split(' '))
    const ask = async (client_id: string, token: string) =>
      assertStatus(await postForm('/auth/smart/introspect', { client_id, token }))
    const introspection = await ask(app.id, tokens.access_token)
    assert.deepEqual(
      [introspection.active, introspection.client_id, introspection.sub, introspection.patient],
      [true, app.id, patient.mvUid, patient.ehrId],
    )
    assert.ok(introspection.fhirUser.includes('/fhir/R4/Patient/') && introspection.exp > Date.now() / 1000)
    assert.deepEqual(await ask(other.id, tokens.access_token), { active: false })
    for (const token of ['nonsense', patient.authToken, tokens.refresh_token ?? ''])
      assert.deepEqual(await ask(app.id, token), { active: false })
  })

  it('are described with the scopes that are left, and as inactive without any', async () => {
    const ownApp = await createSmartApp(['launch/patient', 'patient/Observation.rs', 'patient/Patient.r'])
    const { id: client_id, name, redirectUri } = ownApp
    const scope = 'launch/patient patient/Observation.rs'
    const { tokens } = await authorizeApp(patient, ownApp, scope, patient.ehrId)
    const permit = async (scopes: readonly string[]) => {
      const registration = { name, authentication: 'public', redirectUris: [redirectUri], scopes }
      assertStatus(await ownApp.admin.call('PUT', `/auth/app/${client_id}`, registration))
      const token = tokens.access_token
      return assertStatus(await postForm('/auth/smart/introspect', { client_id, token }))
    }
    assert.equal((await permit(['patient/Observation.rs'])).scope, 'patient/Observation.rs')
    assert.deepEqual(await permit(['patient/Patient.r']), { active: false })
  })

  it('end when the app revokes one of them', async () => {
    for (const kind of ['access_token', 'refresh_token'] as const) {
      const { tokens } = await authorize()
      const other = await createSmartApp(SCOPES.split(' '))
      const revoke = async (client_id: string, token: string) =>
        assertStatus(await postForm('/auth/smart/revoke', { client_id, token }))
      await revoke(other.id, tokens[kind] ?? '')
      await revoke(app.id, 'nonsense')
      assertStatus(await read(tokens.access_token))
      await revoke(app.id, tokens[kind] ?? '')
      assertStatus(await read(tokens.access_token), 401)
      assert.equal((await refresh(tokens.refresh_token)).body.error, 'invalid_grant')
    }
  })

  it('end when the person ends the app, which only that person lists', async () => {
    const { tokens } = await authorize()
    const list = async (who: Patient) =>
      assertStatus(await who.call('GET', '/auth/admitted-app?limit=1000')).items
    const grants = (await list(patient)).filter(({ name }: { name: string }) => name === app.name)
    const newest = grants.find(({ createdAt }: { createdAt: string }) =>
      grants.every((one: { createdAt: string }) => one.createdAt <= createdAt),
    )
    assert.deepEqual([newest.scopes.join(' '), newest.ehrId], [SCOPES, patient.ehrId])
    const stranger = await createPatient()
    assert.deepEqual(await list(stranger), [])
    assertStatus(await stranger.call('DELETE', `/auth/admitted-app/${newest.id}`), 404)
    assertStatus(await read(tokens.access_token))
    assertStatus(await patient.call('DELETE', `/auth/admitted-app/${newest.id}`), 204)
    assertStatus(await read(tokens.access_token), 401)
    assert.equal((await refresh(tokens.refresh_token)).body.error, 'invalid_grant')
    assertStatus(await patient.call('DELETE', `/auth/admitted-app/${newest.id}`), 404)
    const sessions = assertStatus(await patient.call('GET', '/auth/sessions?limit=1000')).items
    assert.ok(sessions.every(({ device }: { device: string }) => device !== app.name))
  })

  it('end when an administrator removes the app, and narrow when it gets fewer scopes', async () => {
    const ownApp = await createSmartApp(['launch/patient', 'patient/Observation.rs', 'patient/Patient.r'])
    const scope = 'launch/patient patient/Observation.rs patient/Patient.r'
    const grant: AppGrant = await authorizeApp(patient, ownApp, scope, patient.ehrId)
    const readPatient = () => grant.call('GET', `/fhir/R4/Patient/${patient.ehrId}`)
    assertStatus(await readPatient())
    const registration = assertStatus(await ownApp.admin.call('GET', `/auth/app/${ownApp.id}`))
    const { id: _, createdAt: __, ...fields } = registration
    const narrower = { ...fields, scopes: ['launch/patient', 'patient/Observation.rs'] }
    assertStatus(await ownApp.admin.call('PUT', `/auth/app/${ownApp.id}`, narrower))
    assertStatus(await readPatient(), 403)
    assertStatus(await ownApp.admin.call('DELETE', `/auth/app/${ownApp.id}`), 204)
    assertStatus(await readPatient(), 401)
  })

  it('are not renewed without a scope for that, and have at least one scope', async () => {
    const granted = ['launch/patient', 'patient/Observation.rs', 'offline_access']
    const ownApp = await createSmartApp([...granted, 'patient/Goal.rs'])
    const { tokens } = await authorizeApp(patient, ownApp, granted.join(' '), patient.ehrId)
    const { id: client_id, name, redirectUri } = ownApp
    for (const [scopes, error] of [
      [['launch/patient', 'patient/Observation.rs'], 'invalid_grant'],
      [['patient/Goal.rs'], 'invalid_scope'],
    ] as const) {
      const registration = { name, authentication: 'public', redirectUris: [redirectUri], scopes }
      assertStatus(await ownApp.admin.call('PUT', `/auth/app/${client_id}`, registration))
      const answer = await refresh(tokens.refresh_token, { client_id })
      assert.deepEqual([answer.status, answer.body.error], [400, error])
    }
  })

  it('end with a new password', async () => {
    const person = await createPatient()
    const { tokens } = await authorizeApp(person, app, SCOPES, person.ehrId)
    const change = { currentPassword: person.password, newPassword: 'another horse battery staple' }
    assertStatus(await person.call('POST', '/auth/account/password/update', change), 204)
    const path = `/fhir/R4/Observation?patient=${person.ehrId}`
    assertStatus(await withToken(tokens.access_token)('GET', path), 401)
  })
})

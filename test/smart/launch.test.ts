import assert from 'node:assert/strict'
import {
  addParticipant,
  createPatient,
  createPlan,
  type Patient,
  readAudit,
} from '../harness/care/patients.ts'
import { type Answer, assertProblem, assertStatus, call } from '../harness/clients/path-client.ts'
import { createPerson, type Person } from '../harness/people/people.ts'
import {
  authorizationOf,
  createSmartApp,
  decide,
  logInOnPage,
  newVerifier,
  openRequest,
  redeemCode,
  type SmartApp,
  withToken,
} from '../harness/people/smart-apps.ts'
import { service } from '../harness/service/service.ts'

const SCOPES = ['launch', 'patient/Observation.rs', 'openid', 'fhirUser']

describe('the launch of an app from an EHR', () => {
  let nurse: Person
  let patient: Patient
  let other: Patient
  let app: SmartApp
  before(async () => {
    nurse = await createPerson()
    ;[patient, other] = [await createPatient(), await createPatient()]
    for (const one of [patient, other]) await addParticipant(await createPlan(one), nurse, 'read')
    app = await createSmartApp(SCOPES, { launchUrl: 'https://app.example.org/launch?a=b' })
  })

  const launchAs = (who: Person, { ehrId }: Patient, appId = app.id) =>
    who.call('POST', '/auth/app-launch', { appId, ehrId })

  const parametersOf = (launch: string | undefined, verifier = newVerifier(), of = app) => ({
    ...authorizationOf(of, SCOPES.join(' '), verifier),
    ...(launch !== undefined && { launch }),
  })

  const errorOf = ({ status, headers }: Answer) => {
    assert.equal(status, 303)
    return new URL(headers.get('location') ?? '').searchParams.get('error')
  }

  it('gives the app the patient of the EHR, whatever the form says', async () => {
    const since = new Date()
    const { launch, iss, launchUrl, expiresAt } = assertStatus(await launchAs(nurse, patient))
    const address = new URL(launchUrl)
    assert.deepEqual(
      [address.origin, ...['a', 'iss', 'launch'].map((name) => address.searchParams.get(name))],
      ['https://app.example.org', 'b', `${service.url}/fhir/R4`, launch],
    )
    assert.equal(iss, `${service.url}/fhir/R4`)
    assert.ok(Date.parse(expiresAt) - Date.now() <= 300_000)
    assert.ok((await readAudit(patient.ehrId, since)).includes('read Ehr done'))
    const verifier = newVerifier()
    const page = await openRequest(nurse, parametersOf(launch, verifier))
    assert.deepEqual(
      [...page.matchAll(/name="patient" value="([^"]*)"/g)].map(([, id]) => id),
      [patient.ehrId],
    )
    const code = (await decide(page, 'admit', other.ehrId)).get('code') ?? ''
    const tokens = assertStatus(await redeemCode(app, code, verifier))
    assert.deepEqual([tokens.patient, tokens.scope], [patient.ehrId, SCOPES.join(' ')])
    const read = ({ ehrId }: Patient) =>
      withToken(tokens.access_token)('GET', `/fhir/R4/Observation?patient=${ehrId}`)
    assertStatus(await read(patient))
    assert.deepEqual(assertStatus(await read(other)).entry ?? [], [])
  })

  it('is for those who may read the EHR, and for apps that can be launched', async () => {
    assertProblem(await launchAs(await createPerson(), patient), 404, 'not-found')
    for (const appId of ['app-unknown123', (await createSmartApp(['patient/*.rs'])).id])
      assertProblem(await launchAs(nurse, patient, appId), 422, 'rule-violated')
    const plain = await createSmartApp(SCOPES)
    assert.equal(assertStatus(await launchAs(nurse, patient, plain.id)).launchUrl, undefined)
  })

  it('can be used once, in time, by the same user and the same app', async () => {
    const newLaunch = async () => assertStatus(await launchAs(nurse, patient)).launch
    const used = await newLaunch()
    await openRequest(nurse, parametersOf(used))
    const expired = await newLaunch()
    const launches = service.db.collection('auth.app_launches')
    await launches.updateMany({ appId: app.id }, { $set: { expiresAt: new Date(0) } })
    const otherApp = await createSmartApp(SCOPES)
    for (const [who, launch, of] of [
      [nurse, used, app],
      [nurse, expired, app],
      [nurse, 'invented', app],
      [await createPerson(), await newLaunch(), app],
      [nurse, await newLaunch(), otherApp],
    ] as const)
      assert.equal(
        errorOf(await logInOnPage(who, parametersOf(launch, newVerifier(), of))),
        'invalid_request',
      )
    const without = new URLSearchParams(parametersOf(undefined))
    assert.equal(errorOf(await call('GET', `/auth/smart/authorize?${without}`)), 'invalid_request')
  })

  it('stays usable after a wrong password', async () => {
    const parameters = parametersOf(assertStatus(await launchAs(nurse, patient)).launch)
    await openRequest({ ...nurse, password: 'wrong' }, parameters)
    assert.ok((await decide(await openRequest(nurse, parameters), 'admit')).get('code'))
  })
})

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { subjectStatus } from '../../conformance/openehr-rest/fixture.ts'
import { addParticipant, createPatient, createPlan, readAudit } from '../../harness/care/patients.ts'
import { assertProblemPlaces, assertStatus, call } from '../../harness/clients/path-client.ts'
import { createAdmin, createPerson, type Person } from '../../harness/people/people.ts'
import {
  createRestSystem,
  type RestSystem,
  requestToken,
  withToken,
} from '../../harness/people/rest-systems.ts'
import { postForm } from '../../harness/people/smart-apps.ts'
import { service } from '../../harness/service/service.ts'

const statusAboutUser = (mvUid: string) => {
  const status = subjectStatus(mvUid)
  status.subject.external_ref.namespace = 'hrs.local'
  return status
}

async function createEhr({ rest }: RestSystem, status?: object): Promise<string> {
  const { status: code, body, etag } = await rest('POST', '/ehr', status)
  assert.equal(code, 201, JSON.stringify(body))
  return etag.slice(1, -1)
}

describe('the connected systems', () => {
  let admin: Person
  before(async () => {
    admin = await createAdmin()
  })

  it('are registered and listed by administrators only, each name once', async () => {
    const { id, name } = await createRestSystem(['modeller', 'modeller'])
    const person = await createPerson()
    assertStatus(await person.call('POST', '/auth/system', { name }), 403)
    assertStatus(await person.call('GET', '/auth/system'), 403)
    assertStatus(await admin.call('POST', '/auth/system', { name }), 409)
    for (const hidden of [' ', '\u200b', 'Lab\u202e'])
      assertProblemPlaces(await admin.call('POST', '/auth/system', { name: hidden }), 400, 'invalid-input')
    const { items } = assertStatus(await admin.call('GET', '/auth/system?limit=1000'))
    const listedSystem = items.find((one: { id: string }) => one.id === id)
    assert.deepEqual([listedSystem.name, listedSystem.active, listedSystem.roles], [name, true, ['modeller']])
    assert.ok(!('keyHash' in listedSystem) && !('clientSecret' in listedSystem))
  })

  it('are registered once if several administrators use a name at the same time', async () => {
    const name = `System ${randomUUID()}`
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => admin.call('POST', '/auth/system', { name })),
    )
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, ...Array(9).fill(409)])
  })

  it('get tokens for their key, in a form or as Basic credentials', async () => {
    const { id, clientSecret } = await createRestSystem()
    const form = assertStatus(await requestToken(id, clientSecret))
    assert.deepEqual([form.token_type, form.expires_in], ['Bearer', 900])
    const basic = assertStatus(
      await call('POST', '/auth/token', Buffer.from('grant_type=client_credentials'), {
        'content-type': 'application/x-www-form-urlencoded',
        authorization: `Basic ${Buffer.from(`${id}:${clientSecret}`).toString('base64')}`,
      }),
    )
    assertStatus(await withToken(basic.access_token)('GET', '/definition/template/adl1.4'))
    for (const [name, secret] of [
      [id, 'wrong'],
      ['system-unknown123', clientSecret],
    ] as const) {
      const { status, body } = await requestToken(name, secret)
      assert.deepEqual([status, body.error], [401, 'invalid_client'])
    }
  })

  it('get errors of OAuth 2.0, and may send parameters that it ignores', async () => {
    const { id: client_id, clientSecret: client_secret } = await createRestSystem()
    const ask = (more: Record<string, string>, headers = {}) =>
      postForm('/auth/token', { client_id, client_secret, ...more }, headers)
    const grant_type = 'client_credentials'
    const token = await ask({ grant_type, scope: '', resource: 'https://example.org', audience: 'any' })
    assert.equal(assertStatus(token).token_type, 'Bearer')
    assert.equal(token.headers.get('pragma'), 'no-cache')
    for (const [form, status, error] of [
      [{}, 400, 'invalid_request'],
      [{ grant_type: 'password' }, 400, 'unsupported_grant_type'],
      [{ grant_type, client_secret: '' }, 401, 'invalid_client'],
    ] as const) {
      const answer = await ask(form)
      assert.deepEqual([answer.status, answer.body.error], [status, error])
    }
    for (const malformed of ['a%zz:secret', 'a:%ff'])
      assertStatus(
        await postForm('/auth/token', { grant_type }, { authorization: `Basic ${btoa(malformed)}` }),
        401,
      )
  })

  it('lose their tokens with their key', async () => {
    const { id, clientSecret, rest } = await createRestSystem()
    assertStatus(await rest('GET', '/definition/query'))
    const renewed = assertStatus(await admin.call('POST', `/auth/system/${id}/key`))
    assertStatus(await rest('GET', '/definition/query'), 401)
    assert.equal((await requestToken(id, clientSecret)).status, 401)
    const { access_token } = assertStatus(await requestToken(id, renewed.clientSecret))
    const again = withToken(access_token)
    assertStatus(await again('GET', '/definition/query'))
    assertStatus(await admin.call('POST', `/auth/system/${id}/revoke`), 204)
    assertStatus(await again('GET', '/definition/query'), 401)
    assert.equal((await requestToken(id, renewed.clientSecret)).status, 401)
    assertStatus(await admin.call('POST', '/auth/system/system-unknown123/revoke'), 404)
  })

  it('cannot use the other operations, nor the class family', async () => {
    const { id, clientSecret } = await createRestSystem(['modeller', 'analyst'])
    const { access_token } = assertStatus(await requestToken(id, clientSecret))
    const headers = { authorization: `Bearer ${access_token}` }
    for (const path of ['/ehr', '/med/knowledge/template', `/profile/${id}`])
      assertStatus(await call('GET', path, undefined, headers), 403)
    assertStatus(await call('POST', '/ehr', { subjectId: 'somebody' }, headers), 403)
  })

  it('store templates and queries with the role modeller only', async () => {
    const { rest } = await createRestSystem()
    const q = Buffer.from('SELECT e FROM EHR e')
    assertStatus(await rest('PUT', '/definition/query/a::b', q, { 'content-type': 'text/plain' }), 403)
    assertStatus(
      await rest('POST', '/definition/template/adl1.4', q, { 'content-type': 'application/xml' }),
      403,
    )
  })

  it('create more EHRs than a person may, and see only those that they are responsible for', async () => {
    const [one, other] = [await createRestSystem(), await createRestSystem()] as const
    const subject = randomUUID()
    const ownEhr = await createEhr(one, subjectStatus(subject))
    const lookup = `/ehr?subject_id=${subject}&subject_namespace=patients`
    assert.equal(assertStatus(await one.rest('GET', lookup)).ehr_id.value, ownEhr)
    assertStatus(await other.rest('GET', lookup), 404)
    for (const path of ['', '/ehr_status', '/directory', '/contribution/x::1', '/versioned_ehr_status'])
      assertStatus(await other.rest('GET', `/ehr/${ownEhr}${path}`), 404)
    const { rows } = assertStatus(
      await other.rest('POST', '/query/aql', { q: 'SELECT e/ehr_id/value FROM EHR e' }),
    )
    assert.deepEqual(rows, [])
    // Another system may be responsible for an EHR about the same subject, and does not learn of the first.
    await createEhr(other, subjectStatus(subject))
    assert.equal((await one.rest('POST', '/ehr', subjectStatus(subject))).status, 409)
  })

  it('create one EHR about a subject, even concurrently', async () => {
    const { rest } = await createRestSystem()
    const status = subjectStatus()
    const answers = await Promise.all([1, 2, 3, 4].map(() => rest('POST', '/ehr', status)))
    assert.deepEqual(answers.map((one) => one.status).sort(), [201, 409, 409, 409])
  })

  it('keep the EHR of a user who agrees to it, who then sees it, too', async () => {
    const system = await createRestSystem()
    const person = await createPerson()
    const ehrId = await createEhr(system, statusAboutUser(person.mvUid))
    const asPerson = (method: string, path: string) => person.call(method, `/openehr/v1/ehr/${ehrId}${path}`)
    assertStatus(await asPerson('GET', ''), 404)
    assertStatus(await person.call('POST', `/ehr/${ehrId}/accept`))
    assertStatus(await asPerson('GET', ''))
    assertStatus(await system.rest('GET', `/ehr/${ehrId}`))
    assertStatus(await person.call('DELETE', `/med/ehr/${ehrId}`), 204)
    await createEhr(system, statusAboutUser(person.mvUid))
    assertStatus(await admin.call('POST', `/med/ehr/${ehrId}/restore`), 409)
  })

  it('leave each access in the audit, with their name', async () => {
    const system = await createRestSystem()
    const ehrId = await createEhr(system)
    assertStatus(await system.rest('GET', `/ehr/${ehrId}/ehr_status`))
    assert.ok((await readAudit(ehrId)).length >= 2)
    const entries = await service.db.collection('audit.entries').find({ ehrId }).toArray()
    for (const { userId, application } of entries)
      assert.deepEqual([userId, application], [system.id, system.name])
    const audit = assertStatus(await admin.call('GET', `/ehr/${ehrId}/audit`))
    assert.ok(JSON.stringify(audit).includes(system.name))
  })
})

describe('the lookup of an EHR by its subject', () => {
  it('does not show participants of an anonymous plan who its subject is', async () => {
    const [patient, nurse] = await Promise.all([createPatient(), createPerson()])
    const lookup = `/ehr?subject_id=${patient.mvUid}&subject_namespace=hrs.local`
    const rest = withToken(nurse.authToken)
    await addParticipant(await createPlan(patient, { anonymous: true }), nurse, 'write')
    assertStatus(await rest('GET', `/ehr/${patient.ehrId}`))
    const status = assertStatus(await rest('GET', `/ehr/${patient.ehrId}/ehr_status`))
    assert.ok(!JSON.stringify(status).includes(patient.mvUid))
    assertStatus(await rest('GET', lookup), 404)
    assertStatus(await rest('POST', '/ehr', statusAboutUser(patient.mvUid)), 201)
    await addParticipant(await createPlan(patient), nurse, 'read')
    assertStatus(await rest('GET', lookup))
  })
})

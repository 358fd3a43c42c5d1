import assert from 'node:assert/strict'
import { createPerson, type Person } from '../../harness/people/people.ts'
import { config, request } from '../../harness/service/service.ts'

/** The headers that each SDK sends besides the application id, according to its source. */
const sdks = [
  ['Android, Apple, Flutter', 'X-Parse-Client-Key', () => config.clientKey],
  ['.NET', 'X-Parse-Windows-Key', () => config.dotnetKey],
  ['JavaScript', 'X-Parse-Javascript-Key', () => config.javascriptKey],
  ['REST, PHP, Python', 'X-Parse-REST-API-Key', () => config.restApiKey],
] as const

describe('the keys of the SDKs', () => {
  let user: Person
  before(async () => {
    user = await createPerson()
  })

  for (const [name, header, key] of sdks) {
    const headers = (value: string) => ({
      'X-Parse-Application-Id': config.applicationId,
      [header]: value,
      'X-Parse-Revocable-Session': '1',
      'X-Parse-Installation-Id': 'c1c0e2f0-0000-4000-8000-000000000001',
    })

    it(`let ${name} log in and read, also if it sends a GET as a POST`, async () => {
      const login = await request()
        .post('/1/login')
        .set(headers(key()))
        .send({ _method: 'GET', username: user.email, password: user.password })
      const { status, body } = login.status === 200 ? login : await login
      assert.equal(status, 200, JSON.stringify(body))
      const answer = await request()
        .post('/1/classes/Ehr')
        .set({ ...headers(key()), 'X-Parse-Session-Token': body.sessionToken })
        .send({ _method: 'GET', limit: '10' })
      assert.equal(answer.status, 200, JSON.stringify(answer.body))
      assert.equal(answer.body.results.length, 1)
    })

    it(`are refused to ${name} if they belong to another SDK`, async () => {
      for (const [, other, value] of sdks)
        if (other !== header)
          assert.equal((await request().get('/1/classes/Ehr').set(headers(value()))).status, 403)
    })
  }

  it('let a user read their own address and session, and nobody else’s address', async () => {
    const headers = {
      'X-Parse-Application-Id': config.applicationId,
      'X-Parse-Client-Key': config.clientKey,
      'X-Parse-Session-Token': user.sessionToken,
    }
    const get = async (path: string) => (await request().get(path).set(headers)).body
    assert.equal((await get('/1/users/me')).email, user.email)
    assert.equal((await get(`/1/users/${user.mvUid}`)).email, user.email)
    assert.equal((await get('/1/sessions/me')).sessionToken, user.sessionToken)
    const strange = { ...headers, 'X-Parse-Session-Token': 'r:00000000000000000000000000000000' }
    assert.equal((await request().get('/1/sessions/me').set(strange)).status, 401)
    const other = await createPerson()
    assert.equal((await get(`/1/users/${other.mvUid}`)).email, undefined)
    const where = encodeURIComponent(JSON.stringify({ email: other.email }))
    const users = await get(`/1/users?where=${where}`)
    assert.ok(users.code !== undefined || users.results.length === 0, JSON.stringify(users))
  })
})

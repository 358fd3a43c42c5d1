import assert from 'node:assert/strict'
import type { Document } from 'mongodb'
import { usersOf } from '../../../records/accounts/user/user.ts'
import { assertProblem } from '../../harness/clients/path-client.ts'
import { createAdmin, createPerson, type Person } from '../../harness/people/people.ts'
import { withFrozenClock } from '../../harness/service/clock.ts'
import { beforeFirstCommand } from '../../harness/service/database-commands.ts'
import { apiKeys, config, request, service } from '../../harness/service/service.ts'

describe('class family: keys and sessions', () => {
  let user: Person
  before(async () => {
    user = await createPerson()
  })

  const routes: [string, string][] = [
    ['get', '/1/classes/CarePlan'],
    ['get', '/1/classes/CarePlan/abcdefghij'],
    ['post', '/1/classes/CarePlan'],
    ['put', '/1/classes/CarePlan/abcdefghij'],
    ['delete', '/1/classes/CarePlan/abcdefghij'],
    ['post', '/1/functions/bmi'],
    ['post', '/functions/bmi'],
    ['post', '/functions/NoSuchFunction'],
    ['get', '/1/users'],
    ['get', '/1/users/me'],
    ['get', '/1/classes/_User'],
    ['post', '/1/logout'],
    ['post', '/1/classes/NoSuchClass'],
  ]
  for (const [method, path] of routes) {
    it(`answers ${method.toUpperCase()} ${path} with 403 without keys and 401 without a session`, async () => {
      const send = () => request()[method as 'get'](path)
      const keyless = await send()
      assert.equal(keyless.status, 403)
      assert.equal(keyless.body.code, 119)
      for (const name of ['REST-API', 'JavaScript', 'Client', 'Windows'])
        assert.ok(keyless.body.error.includes(`X-Parse-${name}-Key`), keyless.body.error)
      assert.match(keyless.headers['content-type'] ?? '', /^application\/json/)
      for (const token of [undefined, 'r:00000000000000000000000000000000', '[object Object]']) {
        const { status, body } = await send().set({
          ...apiKeys(),
          ...(token ? { 'X-Parse-Session-Token': token } : {}),
        })
        assert.equal(status, 401)
        assert.equal(body.code, 209)
        assert.equal(typeof body.error, 'string')
      }
    })
  }

  it('refuses a wrong application id, a wrong key, and a key of another kind', async () => {
    const wrong: Record<string, string>[] = [
      { ...apiKeys(), 'X-Parse-Application-Id': 'another-application' },
      { ...apiKeys(), 'X-Parse-REST-API-Key': 'wrong' },
      { ...apiKeys(), 'X-Parse-REST-API-Key': config.javascriptKey },
      { 'X-Parse-Application-Id': config.applicationId },
    ]
    for (const headers of wrong) {
      const { status, body } = await request()
        .get('/1/classes/CarePlan')
        .set({ ...headers, 'X-Parse-Session-Token': user.sessionToken })
      assert.equal(status, 403)
      assert.equal(body.code, 119)
      assert.match(body.error, /^unauthorized/)
    }
  })

  it('accepts keys and session in the body, as the JavaScript SDK sends them', async () => {
    const { status, body } = await request()
      .post('/1/classes/CarePlan')
      .set('Content-Type', 'text/plain')
      .send(
        JSON.stringify({
          _method: 'GET',
          _ApplicationId: config.applicationId,
          _JavaScriptKey: config.javascriptKey,
          _ClientVersion: 'js8.6.0',
          _SessionToken: user.sessionToken,
          where: {},
          limit: 5,
        }),
      )
    assert.equal(status, 200)
    assert.deepEqual(body, { results: [] })
  })

  it('refuses the parts of a batch without a session, and account operations', async () => {
    const batch = (requests: object[], headers = {}) =>
      request()
        .post('/1/batch')
        .set({ ...apiKeys(), ...headers })
        .send({ requests })
    const guardedPart = { method: 'GET', path: '/1/classes/CarePlan' }
    const refusal = await batch([guardedPart])
    assert.equal(refusal.status, 401)
    assert.equal(refusal.body.code, 209)
    const passed = await batch([guardedPart], { 'X-Parse-Session-Token': user.sessionToken })
    assert.deepEqual(passed.body, [{ success: { results: [] } }])
    for (const path of [
      'login',
      'users',
      'requestPasswordReset',
      'verificationEmailRequest',
      'functions/Login',
    ]) {
      const { body } = await batch([{ method: 'POST', path: `/1/${path}`, body: {} }])
      assert.equal(body[0].error?.code, 119, path)
    }
  })

  it('ends all access at once with a logout', async () => {
    const leaver = await createPerson()
    await request().get('/1/users/me').set(leaver.headers).expect(200)
    await request().post('/1/logout').set(leaver.headers).expect(200)
    const { status, body } = await request().get('/1/users/me').set(leaver.headers)
    assert.equal(status, 401)
    assert.equal(body.code, 209)
  })

  const assertEnded = async ({ headers }: Person, path = '/1/users/me') => {
    const { status, body } = await request().get(path).set(headers)
    assert.deepEqual([status, body.code], [401, 209])
  }

  it('ends all access also of requests that were under way at the logout', async () => {
    const read = ({ headers }: Person) => request().get('/1/classes/CarePlan').set(headers).expect(200)
    const logOut = ({ headers }: Person) => request().post('/1/logout').set(headers).expect(200)
    const logOutByPath = (person: Person) => person.call('POST', '/auth/logout')
    for (const leave of [logOut, logOutByPath]) {
      const reader = await createPerson()
      const isUserRead = ({ find }: Document) => find === '_User'
      await beforeFirstCommand(
        isUserRead,
        () => leave(reader),
        () => read(reader),
      )
      await assertEnded(reader, '/1/classes/CarePlan')

      const leaver = await createPerson()
      const isSessionEnd = (command: Document) => command.delete === '_Session'
      await beforeFirstCommand(
        isSessionEnd,
        () => read(leaver),
        () => leave(leaver),
      )
      await assertEnded(leaver, '/1/classes/CarePlan')
    }
  })

  it('refuses a disabled account whose session still exists, and ends that when the account is enabled', async () => {
    const person = await createPerson()
    const account = `/auth/account/${person.mvUid}`
    await usersOf(service.db).updateOne({ _id: person.mvUid }, { $set: { _rperm: [], _wperm: [] } })
    for (const path of ['/1/users/me', '/1/sessions/me', '/1/classes/CarePlan'])
      await assertEnded(person, path)
    assertProblem(await person.call('GET', account), 401, 'unauthenticated')
    const admin = await createAdmin()
    assert.equal((await admin.call('PUT', account, { disabled: false })).status, 200)
    await assertEnded(person)
    assertProblem(await person.call('GET', account), 401, 'unauthenticated')
  })

  it('expires within 5 s, and every session has an expiry', async () => {
    const session = await service.db.collection('_Session').findOne({ _session_token: user.sessionToken })
    assert.ok(session?.expiresAt instanceof Date)
    const laterPerson = await createPerson()
    const me = () => request().get('/1/users/me').set(laterPerson.headers)
    await withFrozenClock(async (pass) => {
      await me().expect(200)
      await service.db
        .collection('_Session')
        .updateOne({ _session_token: laterPerson.sessionToken }, { $set: { expiresAt: new Date(0) } })
      pass(5_001)
      const { status, body } = await me()
      assert.deepEqual([status, body.code], [401, 209])
    })
  })

  it('ignores an expiry that a client chooses', async () => {
    const session = await service.db.collection('_Session').findOne({ _session_token: user.sessionToken })
    const { status } = await request()
      .put(`/1/classes/_Session/${session?._id}`)
      .set(user.headers)
      .send({ expiresAt: null })
    assert.equal(status, 400)
  })

  it('indexes sessions by token, user and expiry', async () => {
    const indexes = await service.db.collection('_Session').indexes()
    const byName = Object.fromEntries(indexes.map((index) => [index.name, index]))
    assert.deepEqual(byName.session_token?.key, { _session_token: 1 })
    assert.equal(byName.session_token?.unique, true)
    assert.deepEqual(byName.session_user?.key, { _p_user: 1 })
    assert.equal(byName.session_expiry?.expireAfterSeconds, 0)
  })
})

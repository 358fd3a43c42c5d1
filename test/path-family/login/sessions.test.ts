import assert from 'node:assert/strict'
import { assertProblem, call } from '../../harness/clients/path-client.ts'
import { createPerson, logInAs } from '../../harness/people/people.ts'
import { withFrozenClock } from '../../harness/service/clock.ts'
import { apiKeys, request, service } from '../../harness/service/service.ts'

const mine = (mvUid: string) => `/auth/account/${mvUid}`

describe('sessions', () => {
  it('are listed with device and last use, and the current one is marked', async () => {
    const person = await createPerson()
    const phone = await call(
      'POST',
      '/auth/login/password',
      { email: person.email, password: person.password },
      { 'user-agent': 'Phone/1.0' },
    )
    assert.equal(phone.status, 200)
    const { body } = await person.call('GET', '/auth/sessions?count=true')
    assert.equal(body.page.total, 2)
    assert.deepEqual(body.items.map(({ current }: { current: boolean }) => current).sort(), [false, true])
    const other = body.items.find(({ current }: { current: boolean }) => !current)
    assert.equal(other.device, 'Phone/1.0')
    assert.ok(Math.abs(Date.parse(other.lastUsedAt) - Date.now()) < 60_000)
    const page = await person.call('GET', '/auth/sessions?limit=1')
    assert.equal(page.body.items.length, 1)
    const next = await person.call('GET', `/auth/sessions?limit=1&cursor=${page.body.page.next}`)
    assert.notEqual(next.body.items[0].sid, page.body.items[0].sid)
    assert.equal(next.body.page.next, null)
  })

  it('end at once in both families after a logout', async () => {
    const person = await createPerson()
    const parse = { ...apiKeys(), 'X-Parse-Session-Token': person.sessionToken }
    await request().get('/1/users/me').set(parse).expect(200)
    assert.equal((await person.call('GET', mine(person.mvUid))).status, 200)
    assert.equal((await person.call('POST', '/auth/logout')).status, 204)
    assertProblem(await person.call('GET', mine(person.mvUid)), 401, 'unauthenticated')
    assertProblem(
      await call('POST', '/auth/login/token', { refreshToken: person.refreshToken }),
      401,
      'unauthenticated',
    )
    const { status } = await request().get('/1/users/me').set(parse)
    assert.notEqual(status, 200)
  })

  it('end at once in this instance if the class family ends them', async () => {
    const person = await createPerson()
    assert.equal((await person.call('GET', mine(person.mvUid))).status, 200)
    const parse = { ...apiKeys(), 'X-Parse-Session-Token': person.sessionToken }
    await request().post('/1/logout').set(parse).expect(200)
    assertProblem(await person.call('GET', mine(person.mvUid)), 401, 'unauthenticated')
  })

  it('end within 5 s if another instance ends them', async () => {
    const person = await createPerson()
    const other = await logInAs(person.email)
    await withFrozenClock(async (pass) => {
      assert.equal((await person.call('GET', mine(person.mvUid))).status, 200)
      await service.db.collection('_Session').deleteOne({ _session_token: person.sessionToken })
      pass(5_001)
      assertProblem(await person.call('GET', mine(person.mvUid)), 401, 'unauthenticated')
      assert.equal((await other.call('GET', mine(person.mvUid))).status, 200)
    })
  })

  it('are ended one by one, only by their owner', async () => {
    const person = await createPerson()
    const second = await logInAs(person.email)
    const { body } = await second.call('GET', '/auth/sessions')
    const first = body.items.find(({ current }: { current: boolean }) => !current).sid
    const stranger = await createPerson()
    assertProblem(await stranger.call('DELETE', `/auth/sessions/${first}`), 404, 'not-found')
    assert.equal((await person.call('GET', mine(person.mvUid))).status, 200)
    assert.equal((await second.call('DELETE', `/auth/sessions/${first}`)).status, 204)
    assertProblem(await person.call('GET', mine(person.mvUid)), 401, 'unauthenticated')
    assert.equal((await second.call('GET', mine(person.mvUid))).status, 200)
    assertProblem(await second.call('DELETE', `/auth/sessions/${first}`), 404, 'not-found')
  })

  it('end when they expire', async () => {
    const person = await createPerson()
    await service.db
      .collection('_Session')
      .updateOne({ _session_token: person.sessionToken }, { $set: { expiresAt: new Date(Date.now() - 1) } })
    assertProblem(await person.call('GET', mine(person.mvUid)), 401, 'unauthenticated')
    assertProblem(
      await call('POST', '/auth/login/token', { refreshToken: person.refreshToken }),
      401,
      'unauthenticated',
    )
  })
})

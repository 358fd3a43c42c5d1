import assert from 'node:assert/strict'
import { call, refused } from '../../harness/clients/path-client.ts'
import { logInAs, newPerson } from '../../harness/people/people.ts'
import { standstill } from '../../harness/service/clock.ts'
import { keys, request, service } from '../../harness/service/service.ts'

const mine = (mvUid: string) => `/auth/account/${mvUid}`

describe('sessions', () => {
  it('are listed with device and last use, the current one marked', async () => {
    const person = await newPerson()
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

  it('end at once in both families, by logout', async () => {
    const person = await newPerson()
    const parse = { ...keys(), 'X-Parse-Session-Token': person.sessionToken }
    await request().get('/1/users/me').set(parse).expect(200)
    assert.equal((await person.call('GET', mine(person.mvUid))).status, 200)
    assert.equal((await person.call('POST', '/auth/logout')).status, 204)
    refused(await person.call('GET', mine(person.mvUid)), 401, 'unauthenticated')
    refused(
      await call('POST', '/auth/login/token', { refreshToken: person.refreshToken }),
      401,
      'unauthenticated',
    )
    const { status } = await request().get('/1/users/me').set(parse)
    assert.notEqual(status, 200)
  })

  it('end at once here when the class family ends them', async () => {
    const person = await newPerson()
    assert.equal((await person.call('GET', mine(person.mvUid))).status, 200)
    const parse = { ...keys(), 'X-Parse-Session-Token': person.sessionToken }
    await request().post('/1/logout').set(parse).expect(200)
    refused(await person.call('GET', mine(person.mvUid)), 401, 'unauthenticated')
  })

  it('end within 5 s when another instance ends them', async () => {
    const person = await newPerson()
    const other = await logInAs(person.email)
    await standstill(async (pass) => {
      assert.equal((await person.call('GET', mine(person.mvUid))).status, 200)
      await service.db.collection('_Session').deleteOne({ _session_token: person.sessionToken })
      pass(5_001)
      refused(await person.call('GET', mine(person.mvUid)), 401, 'unauthenticated')
      assert.equal((await other.call('GET', mine(person.mvUid))).status, 200)
    })
  })

  it('are ended one by one, and only by their owner', async () => {
    const person = await newPerson()
    const second = await logInAs(person.email)
    const { body } = await second.call('GET', '/auth/sessions')
    const first = body.items.find(({ current }: { current: boolean }) => !current).sid
    const stranger = await newPerson()
    refused(await stranger.call('DELETE', `/auth/sessions/${first}`), 404, 'not-found')
    assert.equal((await person.call('GET', mine(person.mvUid))).status, 200)
    assert.equal((await second.call('DELETE', `/auth/sessions/${first}`)).status, 204)
    refused(await person.call('GET', mine(person.mvUid)), 401, 'unauthenticated')
    assert.equal((await second.call('GET', mine(person.mvUid))).status, 200)
    refused(await second.call('DELETE', `/auth/sessions/${first}`), 404, 'not-found')
  })

  it('are over when they have expired', async () => {
    const person = await newPerson()
    await service.db
      .collection('_Session')
      .updateOne({ _session_token: person.sessionToken }, { $set: { expiresAt: new Date(Date.now() - 1) } })
    refused(await person.call('GET', mine(person.mvUid)), 401, 'unauthenticated')
    refused(
      await call('POST', '/auth/login/token', { refreshToken: person.refreshToken }),
      401,
      'unauthenticated',
    )
  })
})

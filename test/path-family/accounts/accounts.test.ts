import assert from 'node:assert/strict'
import { assertProblem, call } from '../../harness/clients/path-client.ts'
import { followLink, waitForMail, waitForMailAbout } from '../../harness/mail/mail.ts'
import { tokenInLink } from '../../harness/mail/outbox.ts'
import {
  createAddress,
  createAdmin,
  createPerson,
  logIn,
  type Person,
  password,
} from '../../harness/people/people.ts'
import { apiKeys, request, service } from '../../harness/service/service.ts'

const pathOf = (mvUid: string) => `/auth/account/${mvUid}`

describe('accounts', () => {
  let admin: Person
  let anna: Person
  let bob: Person
  before(async () => {
    admin = await createAdmin()
    bob = await createPerson()
  })
  beforeEach(async () => {
    anna = await createPerson()
  })

  it('are visible to their owners and administrators only', async () => {
    const ownAnswer = await anna.call('GET', pathOf(anna.mvUid))
    assert.equal(ownAnswer.status, 200)
    assert.match(ownAnswer.headers.get('etag') ?? '', /^"\d+"$/)
    assert.equal(ownAnswer.body.state, 'ACTIVE')
    assert.deepEqual((await admin.call('GET', pathOf(anna.mvUid))).body, ownAnswer.body)
    assertProblem(await bob.call('GET', pathOf(anna.mvUid)), 404, 'not-found')
    assertProblem(await bob.call('PUT', pathOf(anna.mvUid), { name: 'Bob' }), 404, 'not-found')
    assertProblem(
      await bob.call('DELETE', pathOf(anna.mvUid), { currentPassword: password }),
      404,
      'not-found',
    )
    assertProblem(await call('GET', pathOf(anna.mvUid)), 401, 'unauthenticated')
    assertProblem(await admin.call('GET', pathOf('nobody')), 404, 'not-found')
  })

  it("are listed: all for administrators, with filters and pages, otherwise only the caller's own", async () => {
    const ownAnswer = await anna.call('GET', '/auth/account?count=true')
    assert.deepEqual(
      ownAnswer.body.items.map(({ mvUid }: { mvUid: string }) => mvUid),
      [anna.mvUid],
    )
    assert.equal(ownAnswer.body.page.total, 1)
    assert.deepEqual((await anna.call('GET', `/auth/account?email=${bob.email}`)).body.items, [])

    const accounts = await admin.call('GET', `/auth/account?email=${anna.email.toUpperCase()}`)
    assert.equal(accounts.body.items[0].mvUid, anna.mvUid)
    const first = await admin.call('GET', '/auth/account?limit=1&count=true&state=ACTIVE')
    assert.ok(first.body.page.total >= 3)
    assert.match(first.headers.get('link') ?? '', /rel="next"/)
    const second = await admin.call(
      'GET',
      `/auth/account?limit=1&state=ACTIVE&cursor=${first.body.page.next}`,
    )
    assert.ok(second.body.items[0].mvUid > first.body.items[0].mvUid)
    for (const query of ['state=ASLEEP', 'email=x', 'limit=0', 'role=admin'])
      assertProblem(await admin.call('GET', `/auth/account?${query}`), 400, 'invalid-input')
  })

  it('are loaded by id and address, if the caller may see them', async () => {
    const filter = { mvUids: [anna.mvUid], emails: [bob.email.toUpperCase(), createAddress()] }
    const ids = async (person: Person) =>
      (await person.call('POST', '/auth/account', filter)).body.items.map(
        ({ mvUid }: { mvUid: string }) => mvUid,
      )
    assert.deepEqual(await ids(admin), [anna.mvUid, bob.mvUid].sort())
    assert.deepEqual(await ids(anna), [anna.mvUid])
    assert.deepEqual(await ids(await createPerson()), [])
    assertProblem(await admin.call('POST', '/auth/account', { mvUids: [{ $ne: '' }] }), 400, 'invalid-input')
  })

  it('change name and language at the version that the client saw', async () => {
    const etag = (await anna.call('GET', pathOf(anna.mvUid))).headers.get('etag') ?? ''
    const put = (body: object) => anna.call('PUT', pathOf(anna.mvUid), body, { 'if-match': etag })
    const changed = await put({ name: 'Anna', language: 'nl' })
    assert.equal(changed.status, 200)
    const next = changed.headers.get('etag')
    assert.notEqual(next, etag)
    assert.equal(changed.body.name, 'Anna')
    const stale = await put({ name: 'Bob' })
    assertProblem(stale, 412, 'precondition-failed')
    assert.equal(stale.headers.get('etag'), next)
    const cleared = await anna.call('PUT', pathOf(anna.mvUid), { name: null })
    assert.equal(cleared.body.name, null)
    assert.equal(cleared.body.language, 'nl')
    assertProblem(await anna.call('PUT', pathOf(anna.mvUid), { name: 'a\r\nb' }), 400, 'invalid-input')
    assertProblem(await anna.call('PUT', pathOf(anna.mvUid), { language: 'klingon' }), 400, 'invalid-input')
  })

  it('have a new ETag after any change by either family, and after activation', async () => {
    const etag = async () => (await admin.call('GET', pathOf(anna.mvUid))).headers.get('etag')
    const etags = [await etag()]
    const parse = { ...apiKeys(), 'X-Parse-Session-Token': anna.sessionToken }
    await request().put(`/1/classes/_User/${anna.mvUid}`).set(parse).send({ name: 'Anna' }).expect(200)
    etags.push(await etag())
    const email = createAddress()
    await request().put(`/1/classes/_User/${anna.mvUid}`).set(parse).send({ email }).expect(200)
    etags.push(await etag())
    const { body } = await admin.call('GET', pathOf(anna.mvUid))
    assert.deepEqual([body.state, body.email, body.pendingEmail], ['ACTIVE', anna.email, email])
    await followLink((await waitForMail(email)).link)
    etags.push(await etag())
    assert.equal(new Set(etags).size, 4, etags.join())
  })

  it('are not readable through the class family', async () => {
    const parse = { ...apiKeys(), 'X-Parse-Session-Token': anna.sessionToken }
    const ACL = { '*': { read: true, write: true } }
    await request().put(`/1/classes/_User/${anna.mvUid}`).set(parse).send({ ACL })
    const theirs = { ...apiKeys(), 'X-Parse-Session-Token': bob.sessionToken }
    await request().get(`/1/classes/_User/${anna.mvUid}`).set(theirs).expect(404)
    await request().put(`/1/classes/_User/${anna.mvUid}`).set(parse).send({ ACL: {} })
    assert.equal((await anna.call('GET', pathOf(anna.mvUid))).body.state, 'ACTIVE')
  })

  it('keep their former versions, without passwords', async () => {
    await anna.call('PUT', pathOf(anna.mvUid), { name: 'Anna' })
    const changes = await service.db
      .collection('history.changes')
      .find({ _id: { $gte: `_User/${anna.mvUid}/`, $lt: `_User/${anna.mvUid}0` } } as object)
      .toArray()
    assert.equal(changes.length, 1)
    assert.equal(changes[0]?.userId, anna.mvUid)
    assert.doesNotMatch(JSON.stringify(changes), /_hashed_password|_token|\$2[aby]\$/)
  })

  it('change their address when the link mailed to the new one is followed', async () => {
    const email = createAddress()
    const answer = await anna.call('PUT', pathOf(anna.mvUid), { email })
    assert.equal(answer.body.email, anna.email)
    assert.equal(answer.body.pendingEmail, email)
    assertProblem(await logIn(email), 401, 'invalid-credentials')
    const token = tokenInLink(await waitForMail(email))
    const confirmed = await call('POST', '/auth/account/register/activate', { token })
    assert.deepEqual(confirmed.body, { mvUid: anna.mvUid, email, state: 'ACTIVE' })
    await waitForMailAbout(anna.email, /has changed/)
    assertProblem(await call('POST', '/auth/account/register/activate', { token }), 410, 'link-expired')
    assert.equal((await logIn(email)).status, 200)
    assertProblem(await logIn(anna.email), 401, 'invalid-credentials')
    assert.equal((await anna.call('GET', pathOf(anna.mvUid))).body.pendingEmail, null)
  })

  it('cannot take an address in use, and do not learn that it is in use', async () => {
    const answer = await anna.call('PUT', pathOf(anna.mvUid), { email: bob.email })
    assert.equal(answer.status, 200)
    assert.equal(answer.body.pendingEmail, bob.email)
    await waitForMailAbout(bob.email, /already have an account/)

    const email = createAddress()
    await anna.call('PUT', pathOf(anna.mvUid), { email })
    const token = tokenInLink(await waitForMail(email))
    await service.db.collection('_User').updateOne({ email: bob.email }, { $set: { email, username: email } })
    assertProblem(await call('POST', '/auth/account/register/activate', { token }), 409, 'conflict')
    await service.db
      .collection('_User')
      .updateOne({ email }, { $set: { email: bob.email, username: bob.email } })
  })

  it('get roles and are disabled by administrators only', async () => {
    for (const change of [{ roles: ['admin'] }, { disabled: true }, { disabled: false }])
      assertProblem(await anna.call('PUT', pathOf(anna.mvUid), change), 403, 'forbidden')
    assert.deepEqual((await admin.call('PUT', pathOf(anna.mvUid), { roles: ['admin'] })).body.roles, [
      'admin',
    ])
    assert.equal((await anna.call('GET', pathOf(bob.mvUid))).status, 200)
    await admin.call('PUT', pathOf(anna.mvUid), { roles: [] })
    assertProblem(await anna.call('GET', pathOf(bob.mvUid)), 404, 'not-found')
    assertProblem(await admin.call('PUT', pathOf(anna.mvUid), { roles: ['root'] }), 400, 'invalid-input')
  })

  it("cannot lose the last administrator by that administrator's own request", async () => {
    assert.deepEqual(
      assertProblem(await admin.call('PUT', pathOf(admin.mvUid), { roles: [] }), 422, 'rule-violated'),
      ['own-account'],
    )
    assertProblem(await admin.call('PUT', pathOf(admin.mvUid), { disabled: true }), 422, 'rule-violated')
  })

  it('have no session when disabled and get none, in either family', async () => {
    const disabled = await admin.call('PUT', pathOf(anna.mvUid), { disabled: true })
    assert.equal(disabled.body.state, 'DISABLED')
    assertProblem(await anna.call('GET', pathOf(anna.mvUid)), 401, 'unauthenticated')
    assertProblem(await logIn(anna.email), 401, 'invalid-credentials')
    await request().post('/1/login').set(apiKeys()).send({ username: anna.email, password }).expect(404)
    const answer = await admin.call('GET', `/auth/account?state=DISABLED&email=${anna.email}`)
    assert.equal(answer.body.items.length, 1)
    assert.equal((await admin.call('PUT', pathOf(anna.mvUid), { disabled: false })).body.state, 'ACTIVE')
    assert.equal((await logIn(anna.email)).status, 200)
  })

  it('are deleted with the password, with all personal data; the EHR stays', async () => {
    const ehrId = (await service.db.collection('_User').findOne({ _id: anna.mvUid as never }))?.ehrId
    assert.deepEqual(assertProblem(await anna.call('DELETE', pathOf(anna.mvUid), {}), 422, 'rule-violated'), [
      'required',
    ])
    assertProblem(
      await anna.call('DELETE', pathOf(anna.mvUid), { currentPassword: 'not it' }),
      403,
      'wrong-password',
    )
    assert.equal((await anna.call('DELETE', pathOf(anna.mvUid), { currentPassword: password })).status, 204)
    assertProblem(await anna.call('GET', pathOf(anna.mvUid)), 401, 'unauthenticated')
    assertProblem(await logIn(anna.email), 401, 'invalid-credentials')
    assertProblem(await admin.call('GET', pathOf(anna.mvUid)), 404, 'not-found')
    assert.ok(await service.db.collection('Ehr').findOne({ _id: ehrId }))
    assert.equal(
      await service.db.collection('_Session').countDocuments({ _p_user: `_User$${anna.mvUid}` }),
      0,
    )
  })

  it("are deleted by administrators without the owner's password", async () => {
    assert.equal((await admin.call('DELETE', pathOf(anna.mvUid), {})).status, 204)
    assertProblem(await anna.call('GET', pathOf(anna.mvUid)), 401, 'unauthenticated')
    assertProblem(await admin.call('DELETE', pathOf(anna.mvUid), {}), 404, 'not-found')
  })

  it("refuse the service's own fields from clients of the class family", async () => {
    const parse = { ...apiKeys(), 'X-Parse-Session-Token': anna.sessionToken }
    for (const change of [
      { termsVersion: '99' },
      { version: 7 },
      { invitedAt: { __type: 'Date', iso: '2026-01-01T00:00:00.000Z' } },
    ])
      await request()
        .put(`/1/classes/_User/${anna.mvUid}`)
        .set(parse)
        .send(change)
        .expect(400, { code: 142, error: `${Object.keys(change)[0]} must not be set by clients` })
  })
})

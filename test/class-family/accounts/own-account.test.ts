import assert from 'node:assert/strict'
import { usersOf } from '../../../records/accounts/user/user.ts'
import { assertError } from '../../harness/clients/class-client.ts'
import { assertProblem, call } from '../../harness/clients/path-client.ts'
import { waitForMailAbout } from '../../harness/mail/mail.ts'
import { tokenInLink } from '../../harness/mail/outbox.ts'
import { createAddress, createPerson, logInAs, type Person, password } from '../../harness/people/people.ts'
import { request, service } from '../../harness/service/service.ts'

describe('changes of the own account', () => {
  const next = 'another long password'
  const put = ({ mvUid, headers }: Person, change: object) =>
    request().put(`/1/users/${mvUid}`).set(headers).send(change)
  const identities = () => service.db.collection<{ _id: string; mvUid: string }>('auth.identities')
  const link = (mvUid: string) => identities().insertOne({ _id: `https://id.example.org ${mvUid}`, mvUid })
  let username: string
  let person: Person
  beforeEach(async () => {
    person = await createPerson()
    username = `anna-${person.mvUid.toLowerCase()}`
    await link(person.mvUid)
  })

  /** Asserts that a refused request has changed nothing. */
  async function assertUnchanged({ mvUid, email }: Person): Promise<void> {
    const user = await usersOf(service.db).findOne({ _id: mvUid })
    assert.deepEqual([user?.username, user?.name], [email, undefined])
    assert.equal(await identities().countDocuments({ mvUid }), 1)
    await logInAs(email)
  }

  it('change nothing when another account has the name', async () => {
    const other = await createPerson()
    await put(other, { username }).expect(200)
    assertError(await put(person, { username, password: next, name: 'Anna' }), 202, /username/)
    await assertUnchanged(person)
  })

  it('change nothing when the password is refused', async () => {
    const change = { username, name: 'Anna', email: createAddress() }
    assertError(await put(person, { ...change, password }), 142, /used recently/)
    assertError(await put(person, { ...change, password: `${username} x` }), 142, /password/)
    await assertUnchanged(person)
    const pending = service.db.collection<{ _id: string }>('auth.email_changes')
    assert.equal(await pending.findOne({ _id: person.mvUid }), null)
  })

  it('change nothing when a mailed link chooses a recent password', async () => {
    await call('POST', '/auth/account/password/reset', { email: person.email })
    const token = tokenInLink(await waitForMailAbout(person.email, /new password/))
    const choice = { token, newPassword: password }
    assertProblem(await call('POST', '/auth/account/password/update', choice), 422, 'rule-violated')
    await assertUnchanged(person)
  })

  it('change name, password and pending address together', async () => {
    const email = createAddress()
    await put(person, { username, name: 'Anna', email, password: next }).expect(200)
    const { body } = await person.call('GET', `/auth/account/${person.mvUid}`)
    assert.deepEqual([body.name, body.pendingEmail], ['Anna', email])
    assert.equal(await identities().countDocuments({ mvUid: person.mvUid }), 0)
    await logInAs(person.email, next)
  })
})

describe('the list of users', () => {
  it('contains the user alone, as the API document describes', async () => {
    const [own] = await Promise.all([createPerson(), createPerson()])
    const { body } = await request().get('/1/users').set(own.headers).query({ count: 1 }).expect(200)
    assert.deepEqual([body.results.length, body.results[0].objectId, body.count], [1, own.mvUid, 1])
    const { paths } = (await request().get('/openapi.json').expect(200)).body
    assert.ok(paths['/1/users'].get && paths['/functions/Login'].post)
  })
})

import assert from 'node:assert/strict'
import { loadSdk } from '../harness/clients/class-client.ts'
import { assertProblem } from '../harness/clients/path-client.ts'
import { waitForMail, waitForMailAbout } from '../harness/mail/mail.ts'
import { createAddress, createPerson, logIn, type Person, password } from '../harness/people/people.ts'
import { request } from '../harness/service/service.ts'
import { ageSession, createIdleUser, findAccount } from './idle-user.ts'

const next = 'another long password'
const put = (who: Person, body: object) =>
  request().put(`/1/classes/_User/${who.mvUid}`).set(who.headers).send(body)
const remove = (who: Person, body: object = {}) =>
  request().delete(`/1/classes/_User/${who.mvUid}`).set(who.headers).send(body)

describe('attack: using an open session without knowing the password', () => {
  const changes = (): [string, object][] => [
    ['address', { email: createAddress() }],
    ['username', { username: `name-${Date.now()}` }],
    ['password', { password: next }],
  ]
  for (const [what, change] of changes())
    it(`cannot change the ${what} in the class family, and is told how`, async () => {
      const owner = await createIdleUser()
      const plain = await put(owner, change)
      assert.deepEqual([plain.status, plain.body.code], [400, 119])
      assert.match(plain.body.error, /currentPassword.*within 10 minutes/)
      const wrong = await put(owner, { ...change, currentPassword: 'a guess' })
      assert.deepEqual([wrong.status, wrong.body.code], [400, 119])
      const stored = await findAccount(owner.email)
      assert.equal(stored?.username, owner.email)
      assert.equal((await logIn(owner.email)).status, 200)
      await put(owner, { ...change, currentPassword: password }).expect(200)
    })

  it('cannot delete the account', async () => {
    const owner = await createIdleUser()
    for (const body of [{}, { currentPassword: 'a guess' }]) {
      const { status, body: answer } = await remove(owner, body)
      assert.deepEqual([status, answer.code], [400, 119])
    }
    assert.ok(await findAccount(owner.email))
    await remove(owner, { currentPassword: password }).expect(200)
    assert.equal(await findAccount(owner.email), null)
  })

  it('cannot change the address in the path family', async () => {
    const owner = await createIdleUser()
    const path = `/auth/account/${owner.mvUid}`
    assertProblem(await owner.call('PUT', path, { email: createAddress() }), 403, 'password-required')
    assertProblem(
      await owner.call('PUT', path, { email: createAddress(), currentPassword: 'a guess' }),
      403,
      'wrong-password',
    )
    const email = createAddress()
    const answer = await owner.call('PUT', path, { email, currentPassword: password })
    assert.equal(answer.body.pendingEmail, email)
    assert.equal((await owner.call('PUT', path, { name: 'Anna' })).status, 200)
  })

  it('cannot activate an unconfirmed address; the old address is told', async () => {
    const owner = await createPerson()
    const email = createAddress()
    await put(owner, { email }).expect(200)
    assert.equal((await findAccount(owner.email))?.emailVerified, true)
    assertProblem(await logIn(email), 401, 'invalid-credentials')
    const { link } = await waitForMail(email)
    const token = new URL(link).searchParams.get('token')
    await request().post('/auth/account/register/activate').send({ token }).expect(200)
    await waitForMailAbout(owner.email, /has changed/)
    assert.equal((await findAccount(email))?.username, email)
  })

  it("is told the faults of a new password, under the field's own name", async () => {
    const owner = await createPerson()
    const { status, body } = await put(owner, { password: 'short' })
    assert.deepEqual([status, body.code], [400, 142])
    assert.match(body.error, /^password must have at least 10 characters$/)
    const { body: used } = await put(owner, { password })
    assert.match(used.error, /^password was used/)
  })

  it('cannot find out whose address it is', async () => {
    const owner = await createPerson()
    const other = await createPerson()
    const answer = await put(owner, { email: other.email })
    const free = await put(owner, { email: createAddress() })
    assert.deepEqual([answer.status, Object.keys(answer.body)], [free.status, Object.keys(free.body)])
    await waitForMailAbout(other.email, /already have an account/)
  })

  it('does not hinder a user who has just logged in with the SDK', async () => {
    const owner = await createPerson()
    const Parse = loadSdk()
    const user = await Parse.User.logIn(owner.email, password)
    const session = { sessionToken: user.getSessionToken() ?? '' }
    await user.save({ password: next, language: 'nl' }, session)
    assert.equal((await logIn(owner.email, next)).status, 200)
    await ageSession(session.sessionToken ?? '', 11)
    await assert.rejects(user.save({ email: createAddress() }, session), { code: 119 })
    await assert.rejects(user.destroy(session), { code: 119 })
    const account = await Parse.User.logIn(owner.email, next)
    await account.destroy({ sessionToken: account.getSessionToken() ?? '' })
    assert.equal(await findAccount(owner.email), null)
  })
})

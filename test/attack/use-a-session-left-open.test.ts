import assert from 'node:assert/strict'
import { newSdk } from '../harness/clients/class-client.ts'
import { refused } from '../harness/clients/path-client.ts'
import { mailAbout, mailTo } from '../harness/people/mail.ts'
import { logIn, newAddress, newPerson, type Person, password } from '../harness/people/people.ts'
import { request } from '../harness/service/service.ts'
import { accountWith, age, newIdler } from './cast.ts'

const next = 'another long password'
const put = (who: Person, body: object) =>
  request().put(`/1/classes/_User/${who.mvUid}`).set(who.headers).send(body)
const remove = (who: Person, body: object = {}) =>
  request().delete(`/1/classes/_User/${who.mvUid}`).set(who.headers).send(body)

describe('attack: whoever finds a session open, and does not know the password', () => {
  const changes = (): [string, object][] => [
    ['address', { email: newAddress() }],
    ['username', { username: `name-${Date.now()}` }],
    ['password', { password: next }],
  ]
  for (const [what, change] of changes())
    it(`does not change the ${what} in the class family, and hears what it takes`, async () => {
      const owner = await newIdler()
      const plain = await put(owner, change)
      assert.deepEqual([plain.status, plain.body.code], [400, 119])
      assert.match(plain.body.error, /currentPassword.*within 10 minutes/)
      const wrong = await put(owner, { ...change, currentPassword: 'a guess' })
      assert.deepEqual([wrong.status, wrong.body.code], [400, 119])
      const stored = await accountWith(owner.email)
      assert.equal(stored?.username, owner.email)
      assert.equal((await logIn(owner.email)).status, 200)
      await put(owner, { ...change, currentPassword: password }).expect(200)
    })

  it('does not delete the account', async () => {
    const owner = await newIdler()
    for (const body of [{}, { currentPassword: 'a guess' }]) {
      const { status, body: answer } = await remove(owner, body)
      assert.deepEqual([status, answer.code], [400, 119])
    }
    assert.ok(await accountWith(owner.email))
    await remove(owner, { currentPassword: password }).expect(200)
    assert.equal(await accountWith(owner.email), null)
  })

  it('does not change the address in the path family', async () => {
    const owner = await newIdler()
    const at = `/auth/account/${owner.mvUid}`
    refused(await owner.call('PUT', at, { email: newAddress() }), 403, 'password-required')
    refused(
      await owner.call('PUT', at, { email: newAddress(), currentPassword: 'a guess' }),
      403,
      'wrong-password',
    )
    const email = newAddress()
    const answer = await owner.call('PUT', at, { email, currentPassword: password })
    assert.equal(answer.body.pendingEmail, email)
    assert.equal((await owner.call('PUT', at, { name: 'Anna' })).status, 200)
  })

  it('does not get an address to count that nobody has confirmed; the old one is told', async () => {
    const owner = await newPerson()
    const email = newAddress()
    await put(owner, { email }).expect(200)
    assert.equal((await accountWith(owner.email))?.emailVerified, true)
    refused(await logIn(email), 401, 'invalid-credentials')
    const { link } = await mailTo(email)
    const token = new URL(link).searchParams.get('token')
    await request().post('/auth/account/register/activate').send({ token }).expect(200)
    await mailAbout(owner.email, /has changed/)
    assert.equal((await accountWith(email))?.username, email)
  })

  it('hears what is wrong with a new password, by the name that it was sent under', async () => {
    const owner = await newPerson()
    const { status, body } = await put(owner, { password: 'short' })
    assert.deepEqual([status, body.code], [400, 142])
    assert.match(body.error, /^password must have at least 10 characters$/)
    const { body: used } = await put(owner, { password })
    assert.match(used.error, /^password was used/)
  })

  it('does not learn whose address it is', async () => {
    const [owner, other] = [await newPerson(), await newPerson()]
    const [taken, free] = [
      await put(owner, { email: other.email }),
      await put(owner, { email: newAddress() }),
    ]
    assert.deepEqual([taken.status, Object.keys(taken.body)], [free.status, Object.keys(free.body)])
    await mailAbout(other.email, /already have an account/)
  })

  it('stands in nobody’s way who has just logged in with the SDK', async () => {
    const owner = await newPerson()
    const Parse = newSdk()
    const user = await Parse.User.logIn(owner.email, password)
    const session = { sessionToken: user.getSessionToken() ?? '' }
    await user.save({ password: next, language: 'nl' }, session)
    assert.equal((await logIn(owner.email, next)).status, 200)
    await age(session.sessionToken ?? '', 11)
    await assert.rejects(user.save({ email: newAddress() }, session), { code: 119 })
    await assert.rejects(user.destroy(session), { code: 119 })
    const again = await Parse.User.logIn(owner.email, next)
    await again.destroy({ sessionToken: again.getSessionToken() ?? '' })
    assert.equal(await accountWith(owner.email), null)
  })
})

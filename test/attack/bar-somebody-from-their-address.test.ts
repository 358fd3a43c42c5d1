import assert from 'node:assert/strict'
import { followLink, mailTo } from '../harness/people/mail.ts'
import { logInAs, newAddress, newPerson, register, signUp } from '../harness/people/people.ts'
import { assertNoScan, commandsOf } from '../harness/service/database-commands.ts'
import { request, service } from '../harness/service/service.ts'
import { accountWith } from './cast.ts'

describe('attack: whoever wants to bar somebody from their own address', () => {
  it('cannot take it as a username, at sign-up or later', async () => {
    const [victim, mine] = [newAddress(), newAddress()]
    const { status, body } = await signUp(mine, { username: victim })
    assert.deepEqual([status, body.code], [400, 142])
    assert.match(body.error, /username/)
    const attacker = await newPerson()
    const later = await request()
      .put(`/1/classes/_User/${attacker.mvUid}`)
      .set(attacker.headers)
      .send({ username: victim.toUpperCase() })
    assert.deepEqual([later.status, later.body.code], [400, 142])
    await register(victim)
    await followLink((await mailTo(victim)).link)
    await logInAs(victim)
  })

  it('loses a name that was taken before that was refused', async () => {
    const victim = newAddress()
    const attacker = await newPerson()
    await service.db
      .collection('_User')
      .updateOne({ _id: attacker.mvUid as never }, { $set: { username: victim } })
    await register(victim)
    await followLink((await mailTo(victim)).link)
    assert.notEqual((await logInAs(victim)).mvUid, attacker.mvUid)
    assert.equal((await accountWith(attacker.email))?.username, attacker.email)
  })

  it('gets nowhere by registering it and never confirming: after 7 days the account is gone', async () => {
    const [late, recent, used] = [newAddress(), newAddress(), newAddress()]
    for (const email of [late, recent, used]) {
      await register(email)
      await mailTo(email)
    }
    const users = service.db.collection('_User')
    const eightDaysAgo = new Date(Date.now() - 8 * 86_400_000)
    await users.updateMany({ email: { $in: [late, used] } }, { $set: { _created_at: eightDaysAgo } })
    await users.updateOne({ email: used }, { $set: { activatedAt: eightDaysAgo } })
    const commands = await commandsOf(async () => service.accounts?.services.removals.removeUnconfirmed())
    const looked = commands.filter(({ find }) => find === '_User')
    assert.ok(looked.some(({ filter }) => '_created_at' in filter))
    await assertNoScan(looked)
    const kept = await users.find({ email: { $in: [late, recent, used] } }).toArray()
    assert.deepEqual(kept.map(({ email }) => email).sort(), [recent, used].sort())
  })

  it('can have a name of another kind, which tells nobody’s address', async () => {
    const [email, other] = [newAddress(), newAddress()]
    const username = `name-${email.slice(5, 13)}`
    await signUp(email, { username }).expect(201)
    await followLink((await mailTo(email)).link)
    const { status, body } = await signUp(other, { username })
    assert.deepEqual([status, body.code], [400, 202])
  })

  it('does not hold such a name before the address is confirmed', async () => {
    const [first, second] = [newAddress(), newAddress()]
    const username = `name-${first.slice(5, 13)}`
    for (const email of [first, second]) {
      await signUp(email, { username }).expect(201)
      await mailTo(email)
    }
    await followLink((await mailTo(second)).link)
    assert.equal((await logInAs(second)).email, second)
    assert.equal((await accountWith(second))?.username, second)
  })
})

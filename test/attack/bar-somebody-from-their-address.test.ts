import assert from 'node:assert/strict'
import { followLink, waitForMail } from '../harness/mail/mail.ts'
import { createAddress, createPerson, logInAs, register, signUp } from '../harness/people/people.ts'
import { assertNoScan, recordCommands } from '../harness/service/database-commands.ts'
import { request, service } from '../harness/service/service.ts'
import { findAccount } from './idle-user.ts'

describe('attack: claiming the address of somebody else', () => {
  it('refuses it as a username, at sign-up or later', async () => {
    const victim = createAddress()
    const mine = createAddress()
    const { status, body } = await signUp(mine, { username: victim })
    assert.deepEqual([status, body.code], [400, 142])
    assert.match(body.error, /username/)
    const attacker = await createPerson()
    const later = await request()
      .put(`/1/classes/_User/${attacker.mvUid}`)
      .set(attacker.headers)
      .send({ username: victim.toUpperCase() })
    assert.deepEqual([later.status, later.body.code], [400, 142])
    await register(victim)
    await followLink((await waitForMail(victim)).link)
    await logInAs(victim)
  })

  it('takes away a name that was chosen before such names were refused', async () => {
    const victim = createAddress()
    const attacker = await createPerson()
    await service.db
      .collection('_User')
      .updateOne({ _id: attacker.mvUid as never }, { $set: { username: victim } })
    await register(victim)
    await followLink((await waitForMail(victim)).link)
    assert.notEqual((await logInAs(victim)).mvUid, attacker.mvUid)
    assert.equal((await findAccount(attacker.email))?.username, attacker.email)
  })

  it('removes an unconfirmed registration with it after 7 days', async () => {
    const laterAddress = createAddress()
    const recent = createAddress()
    const used = createAddress()
    const invited = createAddress()
    for (const email of [laterAddress, recent, used, invited]) {
      await register(email)
      await waitForMail(email)
    }
    const users = service.db.collection('_User')
    const eightDaysAgo = new Date(Date.now() - 8 * 86_400_000)
    await users.updateMany(
      { email: { $in: [laterAddress, used, invited] } },
      { $set: { _created_at: eightDaysAgo } },
    )
    await users.updateOne({ email: used }, { $set: { activatedAt: eightDaysAgo } })
    await users.updateOne({ email: invited }, { $set: { invitedAt: new Date() } })
    const commands = await recordCommands(async () =>
      service.accounts?.services.accountDeletion.removeExpiredAccounts(),
    )
    const looked = commands.filter(({ find }) => find === '_User')
    assert.ok(looked.some(({ filter }) => '_created_at' in filter))
    await assertNoScan(looked)
    const remainingUsers = await users
      .find({ email: { $in: [laterAddress, recent, used, invited] } })
      .toArray()
    assert.deepEqual(remainingUsers.map(({ email }) => email).sort(), [recent, used, invited].sort())
  })

  it('allows a different kind of name, which reveals nobody’s address', async () => {
    const email = createAddress()
    const other = createAddress()
    const username = `name-${email.slice(5, 13)}`
    await signUp(email, { username }).expect(201)
    await followLink((await waitForMail(email)).link)
    const { status, body } = await signUp(other, { username })
    assert.deepEqual([status, body.code], [400, 202])
  })

  it('assigns such a name only after the address is confirmed', async () => {
    const first = createAddress()
    const second = createAddress()
    const username = `name-${first.slice(5, 13)}`
    for (const email of [first, second]) {
      await signUp(email, { username }).expect(201)
      await waitForMail(email)
    }
    await followLink((await waitForMail(second)).link)
    assert.equal((await logInAs(second)).email, second)
    assert.equal((await findAccount(second))?.username, second)
  })
})

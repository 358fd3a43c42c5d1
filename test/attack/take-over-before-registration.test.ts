import assert from 'node:assert/strict'
import { call, refused } from '../harness/clients/path-client.ts'
import { followLink, mailAbout, mailTo, tokenIn } from '../harness/people/mail.ts'
import {
  logIn,
  logInAs,
  newAddress,
  newPerson,
  password,
  register,
  signUp,
} from '../harness/people/people.ts'
import { request, service } from '../harness/service/service.ts'
import { until } from '../harness/until.ts'
import { accountWith } from './cast.ts'

const at = (mvUid: string) => `/auth/account/${mvUid}`
const activate = (token: string) => call('POST', '/auth/account/register/activate', { token })

describe('attack: whoever had an address before its owner registers', () => {
  it('does not get the account by giving theirs the address in the class family', async () => {
    const attacker = await newPerson()
    const [own, victim] = [newAddress(), newAddress()]
    await attacker.call('PUT', at(attacker.mvUid), { email: own })
    const wayBack = tokenIn(await mailTo(own))
    await request()
      .put(`/1/classes/_User/${attacker.mvUid}`)
      .set(attacker.headers)
      .send({ email: victim, username: victim })

    await register(victim, { password: 'the password of the victim' })
    await followLink((await mailAbout(victim, /Confirm your e-mail address for/)).link)
    const { mvUid } = await logInAs(victim, 'the password of the victim')
    assert.notEqual(mvUid, attacker.mvUid)
    refused(await activate(wayBack), 410, 'link-expired')
    assert.equal((await accountWith(victim))?._id, mvUid)
    refused(await logIn(victim, password), 401, 'invalid-credentials')
  })

  it('keeps nothing of what they have registered: no id, no password, no link', async () => {
    const victim = newAddress()
    const { body } = await signUp(victim, { password: 'the password of the attacker' })
    const first = await mailTo(victim)
    await call('POST', '/auth/account/password/reset', { email: victim })
    const reset = await mailAbout(victim, /new password/)
    await register(victim, { password: 'the password of the victim' })
    await until(async () => (await mailAbout(victim, /Confirm/)).link !== first.link)

    for (const token of [tokenIn(first)]) refused(await activate(token), 410, 'link-expired')
    const choice = { token: tokenIn(reset), newPassword: 'again the attacker', termsAccepted: true }
    refused(await call('POST', '/auth/account/password/update', choice), 410, 'link-expired')
    await followLink((await mailAbout(victim, /Confirm/)).link)
    const { mvUid } = await logInAs(victim, 'the password of the victim')
    assert.notEqual(mvUid, body.objectId)
    refused(await logIn(victim, 'the password of the attacker'), 401, 'invalid-credentials')
  })

  const traces: [what: string, leave: (mvUid: string) => Promise<unknown>][] = [
    ['sessions', (id) => insert('_Session', { ...session(id), expiresAt: new Date(Date.now() + 60_000) })],
    ['an EHR', (id) => insert('Ehr', { subjectId: id, _rperm: [], _wperm: [] })],
    ['an identity', (id) => insert('auth.identities', { mvUid: id })],
    ['a role', (id) => insert('_Join:users:_Role', { owningId: 'plan-x-read', relatedId: id })],
    ['a pending address', (id) => insert('auth.email_changes', { _id: id, email: 'x@example.org' })],
    ['a time when it was active', (id) => set(id, { activatedAt: new Date() })],
  ]
  for (const [what, leave] of traces)
    it(`is told that the address has an account when that holds ${what}`, async () => {
      const email = newAddress()
      await register(email, { password: 'the password of the first' })
      await mailTo(email)
      const { _id } = (await accountWith(email)) ?? {}
      await leave(String(_id))
      await register(email, { password: 'the password of the second' })
      await mailAbout(email, /already have an account/)
      assert.equal((await accountWith(email))?._id, _id)
    })

  const session = (id: string) => ({ _p_user: `_User$${id}`, _session_token: `r:${id}` })
  const insert = (collection: string, document: object) =>
    service.db.collection(collection).insertOne({ _id: `attack-${Math.random()}` as never, ...document })
  const set = (id: string, $set: object) =>
    service.db.collection('_User').updateOne({ _id: id as never }, { $set })
})

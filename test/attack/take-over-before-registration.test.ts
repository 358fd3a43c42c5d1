import assert from 'node:assert/strict'
import { type Answer, assertProblem, call } from '../harness/clients/path-client.ts'
import { followLink, waitForMail, waitForMailAbout, waitForMailAfter } from '../harness/mail/mail.ts'
import { tokenInLink } from '../harness/mail/outbox.ts'
import {
  createAddress,
  createAdmin,
  createPerson,
  logIn,
  logInAs,
  type Person,
  password,
  register,
  signUp,
} from '../harness/people/people.ts'
import { request, service } from '../harness/service/service.ts'
import { waitUntil } from '../harness/wait.ts'
import { findAccount } from './idle-user.ts'

const pathOf = (mvUid: string) => `/auth/account/${mvUid}`
const activate = (token: string) => call('POST', '/auth/account/register/activate', { token })

describe('attack: claiming an address before its owner registers', () => {
  it('does not get the account by moving another account to that address in the class family', async () => {
    const attacker = await createPerson()
    const ownEmail = createAddress()
    const victim = createAddress()
    await attacker.call('PUT', pathOf(attacker.mvUid), { email: ownEmail })
    const wayBack = tokenInLink(await waitForMail(ownEmail))
    await request()
      .put(`/1/classes/_User/${attacker.mvUid}`)
      .set(attacker.headers)
      .send({ email: victim, username: victim })

    await register(victim, { password: 'the password of the victim' })
    await followLink((await waitForMailAbout(victim, /Confirm your e-mail address for/)).link)
    const { mvUid } = await logInAs(victim, 'the password of the victim')
    assert.notEqual(mvUid, attacker.mvUid)
    assertProblem(await activate(wayBack), 410, 'link-expired')
    assert.equal((await findAccount(victim))?._id, mvUid)
    assertProblem(await logIn(victim, password), 401, 'invalid-credentials')
  })

  it('keeps nothing of that registration: no id, no password, no link', async () => {
    const victim = createAddress()
    const { body } = await signUp(victim, { password: 'the password of the attacker' })
    const firstMail = await waitForMail(victim)
    await call('POST', '/auth/account/password/reset', { email: victim })
    const reset = await waitForMailAbout(victim, /new password/)
    await register(victim, { password: 'the password of the victim' })
    await waitUntil(async () => (await waitForMailAbout(victim, /Confirm/)).link !== firstMail.link)

    for (const token of [tokenInLink(firstMail)]) assertProblem(await activate(token), 410, 'link-expired')
    const choice = { token: tokenInLink(reset), newPassword: 'again the attacker', termsAccepted: true }
    assertProblem(await call('POST', '/auth/account/password/update', choice), 410, 'link-expired')
    const { link } = await waitForMailAbout(victim, /Confirm/)
    await followLink(link, { password: 'the password of the victim' })
    const { mvUid } = await logInAs(victim, 'the password of the victim')
    assert.notEqual(mvUid, body.objectId)
    assertProblem(await logIn(victim, 'the password of the attacker'), 401, 'invalid-credentials')
  })

  const actions: [what: string, act: (admin: Person, mvUid: string) => Promise<Answer>, mailed?: RegExp][] = [
    ['invites it', (admin, mvUid) => admin.call('POST', `${pathOf(mvUid)}/invite`, {}), /invited/],
    ['gives it a role', (admin, mvUid) => admin.call('PUT', pathOf(mvUid), { roles: ['admin'] })],
  ]
  for (const [what, act, mailed] of actions)
    it(`keeps no password and no link of it once an administrator ${what}`, async () => {
      const victim = createAddress()
      await register(victim, { password: 'the password of the attacker' })
      const firstMail = await waitForMail(victim)
      const { _id } = (await findAccount(victim)) ?? {}
      assert.ok((await act(await createAdmin(), String(_id))).status < 300)
      assertProblem(await activate(tokenInLink(firstMail)), 410, 'link-expired')

      const former = mailed ? await waitForMailAbout(victim, mailed) : firstMail
      await call('POST', '/auth/account/register/resend', { email: victim })
      const { link, subject } = await waitForMailAfter(victim, former)
      assert.match(subject ?? '', /invited/)
      await followLink(link, { newPassword: password })
      assertProblem(await logIn(victim, 'the password of the attacker'), 401, 'invalid-credentials')
      const owner = await logInAs(victim)
      assert.equal(owner.mvUid, _id)
      const change = { currentPassword: password, newPassword: 'another long password' }
      assert.equal((await owner.call('POST', '/auth/account/password/update', change)).status, 204)
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
    it(`reports an existing account if it has ${what}`, async () => {
      const email = createAddress()
      await register(email, { password: 'the password of the first' })
      await waitForMail(email)
      const { _id } = (await findAccount(email)) ?? {}
      await leave(String(_id))
      await register(email, { password: 'the password of the second' })
      await waitForMailAbout(email, /already have an account/)
      assert.equal((await findAccount(email))?._id, _id)
    })

  const session = (id: string) => ({ _p_user: `_User$${id}`, _session_token: `r:${id}` })
  const insert = (collection: string, document: object) =>
    service.db.collection(collection).insertOne({ _id: `attack-${Math.random()}` as never, ...document })
  const set = (id: string, $set: object) =>
    service.db.collection('_User').updateOne({ _id: id as never }, { $set })
})

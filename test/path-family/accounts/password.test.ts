import assert from 'node:assert/strict'
import { assertProblem, call } from '../../harness/clients/path-client.ts'
import { waitForMailAbout } from '../../harness/mail/mail.ts'
import { tokenInLink } from '../../harness/mail/outbox.ts'
import {
  createAddress,
  createPerson,
  logIn,
  logInAs,
  type Person,
  password,
} from '../../harness/people/people.ts'
import { apiKeys, request, service } from '../../harness/service/service.ts'

const pathOf = (mvUid: string) => `/auth/account/${mvUid}`

describe('passwords', () => {
  const reset = (email: string) => call('POST', '/auth/account/password/reset', { email })
  const update = (body: object, person?: Person) =>
    person
      ? person.call('POST', '/auth/account/password/update', body)
      : call('POST', '/auth/account/password/update', body)
  const next = 'another long password'

  it('are reset by a mailed link, once, and all sessions end', async () => {
    const person = await createPerson()
    assert.equal((await reset(person.email)).status, 202)
    assert.equal((await reset(createAddress())).status, 202)
    const token = tokenInLink(await waitForMailAbout(person.email, /new password/))
    assert.deepEqual(assertProblem(await update({ token, newPassword: 'short' }), 422, 'rule-violated'), [
      'password-too-short',
    ])
    assert.deepEqual(assertProblem(await update({ token, newPassword: password }), 422, 'rule-violated'), [
      'password-used-before',
    ])
    const answers = await Promise.all([
      update({ token, newPassword: next }),
      update({ token, newPassword: next }),
    ])
    assert.deepEqual(answers.map(({ status }) => status).sort(), [204, 410])
    assertProblem(await person.call('GET', pathOf(person.mvUid)), 401, 'unauthenticated')
    assertProblem(await logIn(person.email), 401, 'invalid-credentials')
    assert.equal((await logIn(person.email, next)).status, 200)
  })

  it('are not reset by an expired or invented token', async () => {
    const person = await createPerson()
    await reset(person.email)
    const token = tokenInLink(await waitForMailAbout(person.email, /new password/))
    await service.db
      .collection('_User')
      .updateOne({ email: person.email }, { $set: { _perishable_token_expires_at: new Date(0) } })
    for (const bad of [token, 'invented', '__proto__']) {
      const answer = await update({ token: bad, newPassword: next })
      assertProblem(answer, 410, 'link-expired')
      assert.match(answer.body.detail, /password\/reset/)
    }
    assert.equal((await logIn(person.email)).status, 200)
  })

  it('end a lockout when they are reset', async () => {
    const person = await createPerson()
    for (let i = 0; i < 6; i++) await logIn(person.email, 'not the password')
    assertProblem(await logIn(person.email), 429, 'account-locked')
    await reset(person.email)
    const token = tokenInLink(await waitForMailAbout(person.email, /new password/))
    assert.equal((await update({ token, newPassword: next })).status, 204)
    assert.equal((await logIn(person.email, next)).status, 200)
  })

  it('are changed with the current one; the other sessions end, this one stays', async () => {
    const person = await createPerson()
    const other = await logInAs(person.email)
    assertProblem(
      await update({ currentPassword: 'not it', newPassword: next }, person),
      403,
      'wrong-password',
    )
    assertProblem(await update({ currentPassword: password, newPassword: next }), 401, 'unauthenticated')
    assert.equal((await update({ currentPassword: password, newPassword: next }, person)).status, 204)
    assert.equal((await person.call('GET', pathOf(person.mvUid))).status, 200)
    assertProblem(await other.call('GET', pathOf(person.mvUid)), 401, 'unauthenticated')
    assert.equal((await logIn(person.email, next)).status, 200)
    const { status } = await call('POST', '/auth/login/token', { refreshToken: person.refreshToken })
    assert.equal(status, 200)
  })

  it('require either a token or the current password', async () => {
    const person = await createPerson()
    for (const body of [{ newPassword: next }, { token: 'x', currentPassword: password, newPassword: next }])
      assertProblem(await update(body, person), 400, 'invalid-input')
  })

  it('are reset by a token that the class family mailed', async () => {
    const person = await createPerson()
    await request().post('/1/requestPasswordReset').set(apiKeys()).send({ email: person.email }).expect(200)
    const firstMail = await waitForMailAbout(person.email, /new password/)
    assert.equal((await update({ token: tokenInLink(firstMail), newPassword: next })).status, 204)
  })
})

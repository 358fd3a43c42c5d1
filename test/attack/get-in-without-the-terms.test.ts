import assert from 'node:assert/strict'
import { assertProblem, call } from '../harness/clients/path-client.ts'
import { followLink, waitForMail, waitForMailAbout } from '../harness/mail/mail.ts'
import { tokenInLink } from '../harness/mail/outbox.ts'
import { createAddress, createAdmin, logIn, logInAs, password, signUp } from '../harness/people/people.ts'
import { apiKeys, request } from '../harness/service/service.ts'
import { findAccount } from './idle-user.ts'

const activate = (body: object) => call('POST', '/auth/account/register/activate', body)

describe('attack: getting an account without agreeing to the terms', () => {
  it('requires agreement at sign-up in the class family', async () => {
    const email = createAddress()
    await signUp(email).expect(201)
    const mail = await waitForMail(email)
    assert.doesNotMatch(mail.link, /terms/)
    assert.equal((await activate({ token: tokenInLink(mail) })).status, 200)
    const { body } = await (await logInAs(email)).call('GET', '/auth/account')
    assert.equal(body.items[0].termsVersion, '1')
    assert.ok(Date.parse(body.items[0].termsAcceptedAt) > Date.now() - 60_000)
  })

  it('requires it with the activation otherwise, which reports a missing agreement and can be repeated', async () => {
    const email = createAddress()
    await signUp(email, { termsAccepted: undefined }).expect(201)
    const token = tokenInLink(await waitForMail(email))
    for (const termsAccepted of [undefined, false]) {
      const answer = await activate({ token, termsAccepted })
      assert.deepEqual(assertProblem(answer, 422, 'rule-violated'), ['terms-not-accepted'])
      assert.equal(answer.body.errors[0].path, 'body.termsAccepted')
    }
    assertProblem(await logIn(email), 401, 'invalid-credentials')
    assert.equal((await activate({ token, termsAccepted: true })).status, 200)
    assert.equal((await findAccount(email))?.termsVersion, '1')
    await logInAs(email)
  })

  it('requires it on the page, with a checkbox whose label links to the terms', async () => {
    const email = createAddress()
    await signUp(email, { termsAccepted: false, language: 'nl' }).expect(201)
    const { link } = await waitForMail(email)
    const page = await (await fetch(link)).text()
    assert.match(page, /type="checkbox" name="termsAccepted"/)
    assert.match(
      page,
      /Ik ga akkoord met de <a href="[^"]+\/auth\/terms"[^>]*>gebruiksvoorwaarden<\/a><\/label>/,
    )
    const bare = link.replace('&terms=true', '')
    assert.match(await followLink(bare), /type="checkbox" name="termsAccepted"/)
    assert.match(await followLink(link, { termsAccepted: 'true' }), /is bevestigd/)
    await logInAs(email)
  })

  it('requires it for a new password chosen instead of following the first link', async () => {
    const email = createAddress()
    await signUp(email, { termsAccepted: undefined }).expect(201)
    await waitForMail(email)
    await request().post('/1/requestPasswordReset').set(apiKeys()).send({ email }).expect(200)
    const { link } = await waitForMailAbout(email, /new password/)
    assert.match(link, /terms=true/)
    const token = tokenInLink({ link })
    const body = { token, newPassword: 'another long password' }
    assertProblem(await call('POST', '/auth/account/password/update', body), 422, 'rule-violated')
    const response = await call('POST', '/auth/account/password/update', { ...body, termsAccepted: true })
    assert.equal(response.status, 204)
    await logInAs(email, body.newPassword)
  })

  it('requires it for a new address that an administrator enters before the activation', async () => {
    const former = createAddress()
    await signUp(former, { termsAccepted: undefined }).expect(201)
    await waitForMail(former)
    const mvUid = (await findAccount(former))?._id
    const email = createAddress()
    assert.equal((await (await createAdmin()).call('PUT', `/auth/account/${mvUid}`, { email })).status, 200)
    const { link } = await waitForMail(email)
    assert.match(link, /terms=true/)
    const token = tokenInLink({ link })
    assert.deepEqual(assertProblem(await activate({ token }), 422, 'rule-violated'), ['terms-not-accepted'])
    assertProblem(await logIn(email), 401, 'invalid-credentials')
    assert.match(await followLink(link, { termsAccepted: 'true' }), /is confirmed/)
    const account = await findAccount(email)
    assert.equal(account?.termsVersion, '1')
    assert.ok(account?.activatedAt)
    await logInAs(email)
  })

  it('requires agreement on Parse Server’s own pages, too', async () => {
    const email = createAddress()
    await signUp(email, { termsAccepted: undefined }).expect(201)
    const token = tokenInLink(await waitForMail(email))
    const pages = `/1/apps/${apiKeys()['X-Parse-Application-Id']}`
    for (const page of [`verify_email?token=${token}`, 'request_password_reset', 'resend_verification_email'])
      await request().get(`${pages}/${page}`).expect(404)
    assert.notEqual((await findAccount(email))?.emailVerified, true)
    assert.equal((await logIn(email, password)).status, 401)
  })
})

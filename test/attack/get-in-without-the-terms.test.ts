import assert from 'node:assert/strict'
import { call, refused } from '../harness/clients/path-client.ts'
import { followLink, mailAbout, mailTo, tokenIn } from '../harness/people/mail.ts'
import { logIn, logInAs, newAddress, password, signUp } from '../harness/people/people.ts'
import { keys, request } from '../harness/service/service.ts'
import { accountWith } from './cast.ts'

const activate = (body: object) => call('POST', '/auth/account/register/activate', body)

describe('attack: whoever wants an account without agreeing to the terms', () => {
  it('agrees at sign-up in the class family', async () => {
    const email = newAddress()
    await signUp(email).expect(201)
    const mail = await mailTo(email)
    assert.doesNotMatch(mail.link, /terms/)
    assert.equal((await activate({ token: tokenIn(mail) })).status, 200)
    const { body } = await (await logInAs(email)).call('GET', '/auth/account')
    assert.equal(body.items[0].termsVersion, '1')
    assert.ok(Date.parse(body.items[0].termsAcceptedAt) > Date.now() - 60_000)
  })

  it('or with the activation, which names what is missing and can be repeated', async () => {
    const email = newAddress()
    await signUp(email, { termsAccepted: undefined }).expect(201)
    const token = tokenIn(await mailTo(email))
    for (const termsAccepted of [undefined, false]) {
      const answer = await activate({ token, termsAccepted })
      assert.deepEqual(refused(answer, 422, 'rule-violated'), ['terms-not-accepted'])
      assert.equal(answer.body.errors[0].path, 'body.termsAccepted')
    }
    refused(await logIn(email), 401, 'invalid-credentials')
    assert.equal((await activate({ token, termsAccepted: true })).status, 200)
    assert.equal((await accountWith(email))?.termsVersion, '1')
    await logInAs(email)
  })

  it('or on the page, by a box beside a link to the terms', async () => {
    const email = newAddress()
    await signUp(email, { termsAccepted: false, language: 'nl' }).expect(201)
    const { link } = await mailTo(email)
    const page = await (await fetch(link)).text()
    assert.match(page, /type="checkbox" name="termsAccepted"/)
    const terms = /<a href="([^"]+)"/.exec(page)?.[1] ?? ''
    assert.equal((await fetch(terms)).status, 200)
    const bare = link.replace('&terms=true', '')
    assert.match(await followLink(bare), /type="checkbox" name="termsAccepted"/)
    assert.match(await followLink(link, { termsAccepted: 'true' }), /is bevestigd/)
    await logInAs(email)
  })

  it('or when choosing a new password instead of following the first link', async () => {
    const email = newAddress()
    await signUp(email, { termsAccepted: undefined }).expect(201)
    await mailTo(email)
    await request().post('/1/requestPasswordReset').set(keys()).send({ email }).expect(200)
    const { link } = await mailAbout(email, /new password/)
    assert.match(link, /terms=true/)
    const token = tokenIn({ link })
    const body = { token, newPassword: 'another long password' }
    refused(await call('POST', '/auth/account/password/update', body), 422, 'rule-violated')
    const agreed = await call('POST', '/auth/account/password/update', { ...body, termsAccepted: true })
    assert.equal(agreed.status, 204)
    await logInAs(email, body.newPassword)
  })

  it('does not get round it by Parse Server’s own pages', async () => {
    const email = newAddress()
    await signUp(email, { termsAccepted: undefined }).expect(201)
    const token = tokenIn(await mailTo(email))
    const pages = `/1/apps/${keys()['X-Parse-Application-Id']}`
    for (const page of [`verify_email?token=${token}`, 'request_password_reset', 'resend_verification_email'])
      await request().get(`${pages}/${page}`).expect(404)
    assert.notEqual((await accountWith(email))?.emailVerified, true)
    assert.equal((await logIn(email, password)).status, 401)
  })
})

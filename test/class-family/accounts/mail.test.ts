import assert from 'node:assert/strict'
import { followLink, waitForMail, waitForMailAbout, waitForMatchingMail } from '../../harness/mail/mail.ts'
import { createAddress, createPerson, password, signUp } from '../../harness/people/people.ts'
import { apiKeys, request } from '../../harness/service/service.ts'

describe('class family: mails', () => {
  it('confirms an address with the mailed link, in text and in HTML', async () => {
    const email = createAddress()
    await signUp(email).expect(201)
    const mail = await waitForMail(email)
    assert.match(mail.subject ?? '', /Confirm your e-mail address/)
    assert.equal(mail.to?.[0]?.address, email)
    assert.ok(mail.html?.includes(mail.link.replaceAll('&', '&#38;')))
    assert.match(await followLink(mail.link), /is confirmed/)
    assert.match(await followLink(mail.link), /no longer works/)
  })

  it('sends another mail on request, and reveals to nobody who has an account', async () => {
    const email = createAddress()
    await signUp(email).expect(201)
    const firstMail = await waitForMail(email)
    const known = await request().post('/1/verificationEmailRequest').set(apiKeys()).send({ email })
    const unknown = await request()
      .post('/1/verificationEmailRequest')
      .set(apiKeys())
      .send({ email: createAddress() })
    assert.equal(known.status, 200)
    assert.deepEqual([unknown.status, unknown.body], [known.status, known.body])
    await waitForMatchingMail(email, ({ link }) => link !== firstMail.link)
  })

  it('resets a password with the mailed link and its page, and ends every session', async () => {
    const user = await createPerson()
    const known = await request().post('/1/requestPasswordReset').set(apiKeys()).send({ email: user.email })
    assert.equal(known.status, 200)
    const unknown = await request()
      .post('/1/requestPasswordReset')
      .set(apiKeys())
      .send({ email: createAddress() })
    assert.deepEqual([unknown.status, unknown.body], [known.status, known.body])

    const mail = await waitForMailAbout(user.email, /password/i)
    const next = 'another long password'
    assert.match(await followLink(mail.link, { newPassword: next }), /is saved/)

    await request().post('/1/login').set(apiKeys()).send({ username: user.email, password }).expect(404)
    await request().post('/1/login').set(apiKeys()).send({ username: user.email, password: next }).expect(200)
    await request().get('/1/users/me').set(user.headers).expect(401)
  })

  it('writes to nobody else, whatever the address contains', async () => {
    for (const email of [
      'a@example.org\r\nBcc: b@example.org',
      'a@example.org, b@example.org',
      { $ne: '' },
      ['a@b.c'],
      5,
    ]) {
      const answers = await Promise.all([
        request().post('/1/users').set(apiKeys()).send({ username: createAddress(), email, password }),
        request().post('/1/requestPasswordReset').set(apiKeys()).send({ email }),
        request().post('/1/verificationEmailRequest').set(apiKeys()).send({ email }),
      ])
      for (const { status } of answers) assert.ok(status < 500, `${JSON.stringify(email)}: ${status}`)
      assert.notEqual(answers[0]?.status, 201)
    }
  })
})

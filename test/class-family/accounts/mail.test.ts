import assert from 'node:assert/strict'
import { followLink, mailAbout, mailThat, mailTo } from '../../harness/people/mail.ts'
import { newAddress, newPerson, password, signUp } from '../../harness/people/people.ts'
import { keys, request } from '../../harness/service/service.ts'

describe('class family: mails', () => {
  it('confirms an address from the mailed link, in text and in HTML', async () => {
    const email = newAddress()
    await signUp(email).expect(201)
    const mail = await mailTo(email)
    assert.match(mail.subject ?? '', /Confirm your e-mail address/)
    assert.equal(mail.to?.[0]?.address, email)
    assert.ok(mail.html?.includes(mail.link.replaceAll('&', '&#38;')))
    assert.match(await followLink(mail.link), /is confirmed/)
    assert.match(await followLink(mail.link), /no longer works/)
  })

  it('sends another one on request, and tells nobody who has an account', async () => {
    const email = newAddress()
    await signUp(email).expect(201)
    const first = await mailTo(email)
    const known = await request().post('/1/verificationEmailRequest').set(keys()).send({ email })
    const unknown = await request()
      .post('/1/verificationEmailRequest')
      .set(keys())
      .send({ email: newAddress() })
    assert.equal(known.status, 200)
    assert.deepEqual([unknown.status, unknown.body], [known.status, known.body])
    await mailThat(email, ({ link }) => link !== first.link)
  })

  it('resets a password from the mailed link through the page, and ends every session', async () => {
    const user = await newPerson()
    const known = await request().post('/1/requestPasswordReset').set(keys()).send({ email: user.email })
    assert.equal(known.status, 200)
    const unknown = await request().post('/1/requestPasswordReset').set(keys()).send({ email: newAddress() })
    assert.deepEqual([unknown.status, unknown.body], [known.status, known.body])

    const mail = await mailAbout(user.email, /password/i)
    const next = 'another long password'
    assert.match(await followLink(mail.link, { newPassword: next }), /is saved/)

    await request().post('/1/login').set(keys()).send({ username: user.email, password }).expect(404)
    await request().post('/1/login').set(keys()).send({ username: user.email, password: next }).expect(200)
    await request().get('/1/users/me').set(user.headers).expect(401)
  })

  it('writes to nobody else, whatever stands in the address', async () => {
    for (const email of [
      'a@example.org\r\nBcc: b@example.org',
      'a@example.org, b@example.org',
      { $ne: '' },
      ['a@b.c'],
      5,
    ]) {
      const answers = await Promise.all([
        request().post('/1/users').set(keys()).send({ username: newAddress(), email, password }),
        request().post('/1/requestPasswordReset').set(keys()).send({ email }),
        request().post('/1/verificationEmailRequest').set(keys()).send({ email }),
      ])
      for (const { status } of answers) assert.ok(status < 500, `${JSON.stringify(email)}: ${status}`)
      assert.notEqual(answers[0]?.status, 201)
    }
  })
})

import assert from 'node:assert/strict'
import { assertError } from '../../harness/clients/class-client.ts'
import { mailAbout } from '../../harness/people/mail.ts'
import { newAddress, newPerson, password } from '../../harness/people/people.ts'
import { keys, request } from '../../harness/service/service.ts'

const signUp = (body: Record<string, unknown>) =>
  request()
    .post('/1/users')
    .set(keys())
    .send({ password, ...body })

describe('sign-up', () => {
  it('needs an e-mail address', async () => {
    assertError(await signUp({ username: newAddress() }), 141, 'Missing required properties: email')
    assertError(
      await signUp({ username: newAddress(), email: null }),
      141,
      'Missing required properties: email',
    )
  })

  it('refuses what is no address', async () => {
    for (const email of [
      5,
      {},
      ['a@example.org'],
      '',
      'nobody',
      'a b@example.org',
      'a@b\r\nBcc: c@example.org',
      '\u0430nna@example.org', // the first letter is Cyrillic
    ])
      assert.equal((await signUp({ username: newAddress(), email })).status, 400, JSON.stringify(email))
  })

  it('takes names in any case for the same account', async () => {
    const { email } = await newPerson()
    const upper = email.toUpperCase()
    const login = request().post('/1/login').set(keys()).send({ username: upper, password })
    assert.equal((await login.expect(200)).body.username, email)
    assert.equal((await signUp({ username: upper, email: upper })).status, 201)
    await mailAbout(email, /already have an account/)
  })

  it('lets no client set what is not theirs', async () => {
    for (const more of [
      { emailVerified: true },
      { ehrId: 'abcdefghij' },
      { role: 'admin' },
      { version: 2 },
      { name: 'Anna\r\nBcc: b@example.org' },
      { language: 'x'.repeat(100) },
    ]) {
      const email = newAddress()
      const { status, body } = await signUp({ username: email, email, ...more })
      assert.equal(status, 400, JSON.stringify(more))
      assert.equal(typeof body.code, 'number')
    }
  })
})

import assert from 'node:assert/strict'
import { assertError } from '../../harness/clients/class-client.ts'
import { waitForMailAbout } from '../../harness/mail/mail.ts'
import { createAddress, createPerson, password } from '../../harness/people/people.ts'
import { apiKeys, request } from '../../harness/service/service.ts'

const signUp = (body: Record<string, unknown>) =>
  request()
    .post('/1/users')
    .set(apiKeys())
    .send({ password, ...body })

describe('sign-up', () => {
  it('requires an e-mail address', async () => {
    assertError(await signUp({ username: createAddress() }), 141, 'Missing required properties: email')
    assertError(
      await signUp({ username: createAddress(), email: null }),
      141,
      'Missing required properties: email',
    )
  })

  it('refuses an invalid address', async () => {
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
      assert.equal((await signUp({ username: createAddress(), email })).status, 400, JSON.stringify(email))
  })

  it('treats names in any case as the same account', async () => {
    const { email } = await createPerson()
    const upper = email.toUpperCase()
    const login = request().post('/1/login').set(apiKeys()).send({ username: upper, password })
    assert.equal((await login.expect(200)).body.username, email)
    assert.equal((await signUp({ username: upper, email: upper })).status, 201)
    await waitForMailAbout(email, /already have an account/)
  })

  it('refuses fields that clients may not set', async () => {
    for (const more of [
      { emailVerified: true },
      { ehrId: 'abcdefghij' },
      { role: 'admin' },
      { version: 2 },
      { objectId: 'abcdefghij' },
      { name: 'Anna\r\nBcc: b@example.org' },
      { language: 'x'.repeat(100) },
    ]) {
      const email = createAddress()
      const { status, body } = await signUp({ username: email, email, ...more })
      assert.equal(status, 400, JSON.stringify(more))
      assert.equal(typeof body.code, 'number')
    }
  })
})

import assert from 'node:assert/strict'
import { hashSecret } from '../../../records/accounts/user/secret.ts'
import { assertProblem, call } from '../../harness/clients/path-client.ts'
import { createAddress, createPerson, logIn } from '../../harness/people/people.ts'
import { config, request, service } from '../../harness/service/service.ts'
import { bySize } from '../../harness/test-size.ts'

describe('login with a password', () => {
  it('returns tokens for both families', async () => {
    const person = await createPerson()
    assert.equal(person.tokenType, 'Bearer')
    assert.equal(person.expiresIn, 900)
    assert.ok(person.refreshExpiresIn > 43_000 && person.refreshExpiresIn <= 43_200)
    assert.match(person.sessionToken, /^r:/)
    assert.equal((await person.call('GET', `/auth/account/${person.mvUid}`)).status, 200)
  })

  it('accepts the address in any case', async () => {
    const person = await createPerson()
    assert.equal((await logIn(person.email.toUpperCase())).status, 200)
  })

  it('gives the same answer to a wrong password and an unknown address', async () => {
    const person = await createPerson()
    const wrong = await logIn(person.email, 'not the password')
    const unknown = await logIn(createAddress(), 'not the password')
    assertProblem(wrong, 401, 'invalid-credentials')
    assertProblem(unknown, 401, 'invalid-credentials')
    const withoutRequestId = ({ requestId, ...rest }: Record<string, unknown>) => rest
    assert.deepEqual(withoutRequestId(wrong.body), withoutRequestId(unknown.body))
  })

  it('treats an empty password as a wrong one, in every operation', async () => {
    const { email, mvUid, headers } = await createPerson()
    const page = () => request().post('/ehr/audit').type('form')
    for (const login of [
      { email, password: '' },
      { email: createAddress(), password: '' },
    ]) {
      const { status, text, headers: replyHeaders } = await page().send(login)
      assert.deepEqual([status, replyHeaders['set-cookie']], [200, undefined])
      assert.match(text, /role="alert"/)
    }
    const change = { email: createAddress(), currentPassword: '' }
    const changed = await request().put(`/1/classes/_User/${mvUid}`).set(headers).send(change)
    assert.ok(changed.status === 400 && changed.body.code === 142, JSON.stringify(changed.body))
  })

  it('locks an account, known or not, after the same number of wrong passwords', async () => {
    const person = await createPerson()
    const codes = async (email: string) => {
      const refusals: string[] = []
      for (let i = 0; i < 8; i++) {
        const { body, headers } = await logIn(email, 'not the password')
        refusals.push(`${body.code} ${headers.get('retry-after')}`)
      }
      return refusals
    }
    const knownCodes = await codes(person.email)
    assert.deepEqual(knownCodes, await codes(createAddress()))
    assert.equal(knownCodes[0], 'invalid-credentials null')
    assert.equal(knownCodes.at(-1), 'account-locked 300')
    assertProblem(await logIn(person.email), 429, 'account-locked')
  })

  it('refuses the right password after as many wrong ones as are configured, and no fewer', async () => {
    const { email } = await createPerson()
    const guess = async (times: number) => {
      for (let i = 0; i < times; i++) await logIn(email, 'not the password')
    }
    await guess(config.lockoutAttempts - 1)
    assert.equal((await logIn(email)).status, 200)
    await guess(config.lockoutAttempts)
    assertProblem(await logIn(email), 429, 'account-locked')
    const _id = hashSecret(email) as never
    const counter = await service.db.collection('auth.failed_logins').findOne({ _id })
    const endsInMs = counter?.expiresAt.getTime() - Date.now()
    assert.ok(endsInMs > 86_000_000 && endsInMs <= 86_400_000, String(endsInMs))
  })

  const many = bySize(40, 200)
  it(`answers each of ${many} simultaneous wrong logins`, async () => {
    const email = createAddress()
    const answers = await Promise.all(Array.from({ length: many }, () => logIn(email, 'not the password')))
    for (const { status } of answers) assert.ok(status === 401 || status === 429, String(status))
    assert.ok(answers.some(({ status }) => status === 429))
  })

  it('refuses operators, arrays and empty passwords', async () => {
    const { email } = await createPerson()
    for (const body of [
      { email: { $gt: '' }, password: 'x' },
      { email, password: { $ne: '' } },
      { email: [email], password: 'x' },
      { email, password: '' },
      { email },
      { email, password: 'x', master: true },
    ])
      assertProblem(await call('POST', '/auth/login/password', body), 400, 'invalid-input')
  })
})

import assert from 'node:assert/strict'
import { assertProblem, call } from '../harness/clients/path-client.ts'
import { createAddress, createPerson, logIn, type Person, password } from '../harness/people/people.ts'
import { config, request } from '../harness/service/service.ts'

const next = 'another long password'
const pathOf = ({ mvUid }: Person) => `/auth/account/${mvUid}`
const changeByPath = (who: Person, currentPassword: string) =>
  who.call('POST', '/auth/account/password/update', { currentPassword, newPassword: next })

/** Somebody else sends so many wrong passwords that logins to the account are refused. */
async function createLockedPerson(): Promise<Person> {
  const person = await createPerson()
  for (let i = 0; i <= config.lockoutAttempts; i++) await logIn(person.email, 'a guess')
  assertProblem(await logIn(person.email), 429, 'account-locked')
  return person
}

describe('attack: locking somebody out with wrong passwords', () => {
  it('does not end the sessions of that person', async () => {
    const person = await createLockedPerson()
    assert.equal((await person.call('GET', pathOf(person))).status, 200)
    await request().get('/1/users/me').set(person.headers).expect(200)
    const { refreshToken } = person
    assert.equal((await call('POST', '/auth/login/token', { refreshToken })).status, 200)
  })

  it('does not keep that person from anything that needs the current password', async () => {
    const byPath = await createLockedPerson()
    const email = { email: createAddress(), currentPassword: password }
    assert.equal((await byPath.call('PUT', pathOf(byPath), email)).status, 200)
    assert.equal((await changeByPath(byPath, password)).status, 204)
    assert.equal((await byPath.call('DELETE', pathOf(byPath), { currentPassword: next })).status, 204)

    const byClass = await createLockedPerson()
    const put = request().put(`/1/users/${byClass.mvUid}`).set(byClass.headers)
    await put.send({ password: next, currentPassword: password }).expect(200)
    const remove = request().delete(`/1/users/${byClass.mvUid}`).set(byClass.headers)
    await remove.send({ currentPassword: next }).expect(200)
  })

  it('is not possible from the device of that person, whose guesses are limited by themselves', async () => {
    const person = await createPerson()
    const answers = await Promise.all(
      Array.from({ length: config.lockoutAttempts + 3 }, () => changeByPath(person, 'a guess')),
    )
    const codes = answers.map(({ body }) => body.code).sort()
    assert.deepEqual(codes, [
      ...Array.from({ length: 3 }, () => 'account-locked'),
      ...Array.from({ length: config.lockoutAttempts }, () => 'wrong-password'),
    ])
    assertProblem(await changeByPath(person, password), 429, 'account-locked')
    const elsewhere = await logIn(person.email)
    assert.equal(elsewhere.status, 200)
  })
})

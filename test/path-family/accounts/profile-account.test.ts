import assert from 'node:assert/strict'
import { usersOf } from '../../../records/accounts/user/user.ts'
import { assertProblem, assertStatus, call } from '../../harness/clients/path-client.ts'
import { createAdmin, createPerson, type Person, password } from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'

/** Profiles in the whole service, with real accounts and tokens. */
describe('the profile of an account', () => {
  let anna: Person
  let bob: Person
  let profile: string
  before(async () => {
    anna = await createPerson()
    bob = await createPerson()
    profile = `/profile/${anna.mvUid}`
  })

  it('exists as soon as the account', async () => {
    const { status, body } = await anna.call('GET', profile)
    assert.equal(status, 200, JSON.stringify(body))
    assert.equal(body.name.displayName, anna.email.split('@')[0])
    assertProblem(await bob.call('GET', profile), 404, 'not-found')
    assertProblem(await call('GET', profile), 401, 'unauthenticated')
  })

  it('exists for accounts with values that the profile does not allow', async () => {
    const person = await createPerson()
    const stored = { name: ' ', language: 'fry', email: `${'x'.repeat(220)}@example.org` }
    await usersOf(service.db).updateOne({ _id: person.mvUid }, { $set: stored })
    const account = assertStatus(await person.call('GET', `/auth/account/${person.mvUid}`))
    assert.deepEqual([account.name, account.language], [null, null])
    const { name, language } = assertStatus(await person.call('GET', `/profile/${person.mvUid}`))
    assert.deepEqual([name.displayName, language], ['x'.repeat(200), null])
  })

  it('is readable for connections, and administrators can change it', async () => {
    const fax = { type: 'FAX', value: '+31206241111', primary: true }
    assert.equal((await anna.call('POST', `${profile}/contact`, fax)).status, 201)
    await anna.call('POST', `${profile}/network`, { mvUid: bob.mvUid })
    await bob.call('POST', `/profile/${bob.mvUid}/network`, { mvUid: anna.mvUid })
    assert.equal((await bob.call('GET', `${profile}/contact`)).body.items.length, 1)
    assertProblem(await bob.call('GET', `${profile}/address`), 404, 'not-found')
    const admin = await createAdmin()
    const { status } = await admin.call('POST', `${profile}/address`, { usage: 'HOME' })
    assert.equal(status, 201)
  })

  it('is exported with the account, its sessions and its EHR, and without secrets', async () => {
    const { status, body } = await anna.call('GET', `${profile}/export`)
    assert.equal(status, 200)
    const lines = (body as string)
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    const kinds = new Set(lines.map(({ kind }) => kind))
    for (const kind of [
      'account',
      'session',
      'person',
      'contact',
      'address',
      'connection',
      'Ehr',
      'history',
      'access',
    ])
      assert.ok(kinds.has(kind), kind)
    assert.doesNotMatch(body, /\$2[aby]\$|r:[0-9a-f]{32}|_hashed|_token/)
  })

  it('is deleted with the account', async () => {
    const { status } = await anna.call('DELETE', `/auth/account/${anna.mvUid}`, { currentPassword: password })
    assert.equal(status, 204)
    assertProblem(await anna.call('GET', profile), 401, 'unauthenticated')
    assert.deepEqual((await bob.call('GET', `/profile/${bob.mvUid}/network`)).body.items, [])
    for (const { name } of await service.db.listCollections().toArray()) {
      if (!name.startsWith('profile.')) continue
      const left = await service.db.collection(name).find({}).toArray()
      assert.ok(!JSON.stringify(left).includes(anna.mvUid), name)
    }
  })
})

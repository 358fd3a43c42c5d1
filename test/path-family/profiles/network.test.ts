import assert from 'node:assert/strict'
import { connect, type ProfileService, refused, startProfiles, type TestPerson } from './profile-service.ts'

describe('the network', () => {
  let service: ProfileService
  let anna: TestPerson
  let bob: TestPerson
  before(async () => {
    service = await startProfiles()
  })
  after(() => service.close())
  beforeEach(async () => {
    anna = await service.newPerson({ name: 'Anna' })
    bob = await service.newPerson({ name: 'Bob' })
  })
  const stateOf = async (one: TestPerson, other: TestPerson) =>
    (await one.send('GET', `network/${other.mvUid}`)).body.state

  it('is asked for by one side and accepted by the other', async () => {
    const asked = await anna.send('POST', 'network', { mvUid: bob.mvUid })
    assert.equal(asked.status, 201, JSON.stringify(asked.body))
    assert.equal(asked.headers.get('location'), `/profile/${anna.mvUid}/network/${bob.mvUid}`)
    assert.deepEqual([await stateOf(anna, bob), await stateOf(bob, anna)], ['PENDING_OUT', 'PENDING_IN'])
    const again = await anna.send('POST', 'network', { mvUid: bob.mvUid })
    assert.deepEqual([again.status, again.body.state], [201, 'PENDING_OUT'])
    const accepted = await bob.send('POST', 'network', { mvUid: anna.mvUid })
    assert.deepEqual([accepted.status, accepted.body.state], [201, 'CONNECTED'])
    assert.deepEqual([await stateOf(anna, bob), await stateOf(bob, anna)], ['CONNECTED', 'CONNECTED'])
    const { items } = (await anna.send('GET', 'network')).body
    assert.deepEqual(
      items.map(({ mvUid, state }: { mvUid: string; state: string }) => [mvUid, state]),
      [[bob.mvUid, 'CONNECTED']],
    )
  })

  it('connects two who ask each other at the same instant', async () => {
    const asks = [
      anna.send('POST', 'network', { mvUid: bob.mvUid }),
      bob.send('POST', 'network', { mvUid: anna.mvUid }),
    ]
    assert.deepEqual(
      (await Promise.all(asks)).map(({ status }) => status),
      [201, 201],
    )
    assert.deepEqual([await stateOf(anna, bob), await stateOf(bob, anna)], ['CONNECTED', 'CONNECTED'])
  })

  it('ends for both when either ends it', async () => {
    await connect(anna, bob)
    refused(
      await bob.send('DELETE', `network/${anna.mvUid}`, undefined, { 'if-match': '"1"' }),
      412,
      'precondition-failed',
    )
    assert.equal((await bob.send('DELETE', `network/${anna.mvUid}`)).status, 204)
    refused(await anna.send('GET', `network/${bob.mvUid}`), 404, 'not-found')
    refused(await bob.send('GET', `network/${anna.mvUid}`), 404, 'not-found')
    refused(await bob.send('DELETE', `network/${anna.mvUid}`), 404, 'not-found')
    refused(await anna.send('GET', `/profile/${bob.mvUid}`), 404, 'not-found')
    await connect(bob, anna)
    assert.equal(await stateOf(anna, bob), 'CONNECTED')
  })

  it('is with somebody else who is a user', async () => {
    for (const mvUid of [anna.mvUid, 'nobody1234']) {
      assert.deepEqual(refused(await anna.send('POST', 'network', { mvUid }), 422, 'rule-violated'), [
        'body.mvUid',
      ])
    }
    refused(await anna.send('GET', 'network/nobody1234'), 404, 'not-found')
  })

  it('shows a connection the name, the picture and the contacts, no more', async () => {
    await bob.send('PUT', '', {
      name: { displayName: 'Bob', note: '<b>x</b>' },
      gender: 'MALE',
      note: 'secret',
    })
    const { body: phone } = await bob.send('POST', 'contact', {
      type: 'FAX',
      value: '+31206241111',
      primary: true,
    })
    const at = `/profile/${bob.mvUid}`
    await anna.send('POST', 'network', { mvUid: bob.mvUid })
    for (const part of ['', '/contact', '/picture', `/contact/${phone.contactId}`]) {
      refused(await anna.send('GET', at + part), 404, 'not-found')
    }
    await bob.send('POST', 'network', { mvUid: anna.mvUid })
    const { body } = await anna.send('GET', at)
    assert.deepEqual(Object.keys(body).sort(), ['id', 'name', 'picture'])
    assert.equal(body.name.displayName, 'Bob')
    assert.deepEqual((await anna.send('GET', `${at}/contact`)).body.items, [phone])
    assert.deepEqual((await anna.send('GET', `${at}/contact/${phone.contactId}`)).body, phone)
    for (const part of [
      '/address',
      '/relation',
      '/network',
      '/export',
      '/relation/1',
      '/relation/1/contact',
    ]) {
      refused(await anna.send('GET', at + part), 404, 'not-found')
    }
    refused(await anna.send('PUT', at, { name: { displayName: 'Eve' } }), 404, 'not-found')
    refused(await anna.send('DELETE', `${at}/contact/${phone.contactId}`), 404, 'not-found')
  })
})

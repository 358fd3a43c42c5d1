import assert from 'node:assert/strict'
import { connect, newOwner, type Owner } from '../../harness/care/owners.ts'
import { refusedAt } from '../../harness/clients/path-client.ts'

describe('the network', () => {
  let anna: Owner
  let bob: Owner
  beforeEach(async () => {
    anna = await newOwner({ name: 'Anna' })
    bob = await newOwner({ name: 'Bob' })
  })
  const stateOf = async (one: Owner, other: Owner) =>
    (await one.call('GET', `network/${other.mvUid}`)).body.state

  it('is asked for by one side and accepted by the other', async () => {
    const answer = await anna.call('POST', 'network', { mvUid: bob.mvUid })
    assert.equal(answer.status, 201, JSON.stringify(answer.body))
    assert.equal(answer.headers.get('location'), `/profile/${anna.mvUid}/network/${bob.mvUid}`)
    assert.deepEqual([await stateOf(anna, bob), await stateOf(bob, anna)], ['PENDING_OUT', 'PENDING_IN'])
    const again = await anna.call('POST', 'network', { mvUid: bob.mvUid })
    assert.deepEqual([again.status, again.body.state], [201, 'PENDING_OUT'])
    const accepted = await bob.call('POST', 'network', { mvUid: anna.mvUid })
    assert.deepEqual([accepted.status, accepted.body.state], [201, 'CONNECTED'])
    assert.deepEqual([await stateOf(anna, bob), await stateOf(bob, anna)], ['CONNECTED', 'CONNECTED'])
    const { items } = (await anna.call('GET', 'network')).body
    assert.deepEqual(
      items.map(({ mvUid, state }: { mvUid: string; state: string }) => [mvUid, state]),
      [[bob.mvUid, 'CONNECTED']],
    )
  })

  it('connects two who ask each other at the same instant', async () => {
    const asks = [
      anna.call('POST', 'network', { mvUid: bob.mvUid }),
      bob.call('POST', 'network', { mvUid: anna.mvUid }),
    ]
    assert.deepEqual(
      (await Promise.all(asks)).map(({ status }) => status),
      [201, 201],
    )
    assert.deepEqual([await stateOf(anna, bob), await stateOf(bob, anna)], ['CONNECTED', 'CONNECTED'])
  })

  it('ends for both when either ends it', async () => {
    await connect(anna, bob)
    refusedAt(
      await bob.call('DELETE', `network/${anna.mvUid}`, undefined, { 'if-match': '"1"' }),
      412,
      'precondition-failed',
    )
    assert.equal((await bob.call('DELETE', `network/${anna.mvUid}`)).status, 204)
    refusedAt(await anna.call('GET', `network/${bob.mvUid}`), 404, 'not-found')
    refusedAt(await bob.call('GET', `network/${anna.mvUid}`), 404, 'not-found')
    refusedAt(await bob.call('DELETE', `network/${anna.mvUid}`), 404, 'not-found')
    refusedAt(await anna.call('GET', `/profile/${bob.mvUid}`), 404, 'not-found')
    await connect(bob, anna)
    assert.equal(await stateOf(anna, bob), 'CONNECTED')
  })

  it('is with somebody else who is a user', async () => {
    for (const mvUid of [anna.mvUid, 'nobody1234']) {
      assert.deepEqual(refusedAt(await anna.call('POST', 'network', { mvUid }), 422, 'rule-violated'), [
        'body.mvUid',
      ])
    }
    refusedAt(await anna.call('GET', 'network/nobody1234'), 404, 'not-found')
  })

  it('shows a connection the name, the picture and the contacts, no more', async () => {
    await bob.call('PUT', '', {
      name: { displayName: 'Bob', note: '<b>x</b>' },
      gender: 'MALE',
      note: 'secret',
    })
    const { body: phone } = await bob.call('POST', 'contact', {
      type: 'FAX',
      value: '+31206241111',
      primary: true,
    })
    const at = `/profile/${bob.mvUid}`
    await anna.call('POST', 'network', { mvUid: bob.mvUid })
    for (const path of ['', '/contact', '/picture', `/contact/${phone.contactId}`]) {
      refusedAt(await anna.call('GET', at + path), 404, 'not-found')
    }
    await bob.call('POST', 'network', { mvUid: anna.mvUid })
    const { body } = await anna.call('GET', at)
    assert.deepEqual(Object.keys(body).sort(), ['id', 'name', 'picture'])
    assert.equal(body.name.displayName, 'Bob')
    assert.deepEqual((await anna.call('GET', `${at}/contact`)).body.items, [phone])
    assert.deepEqual((await anna.call('GET', `${at}/contact/${phone.contactId}`)).body, phone)
    for (const path of [
      '/address',
      '/relation',
      '/network',
      '/export',
      '/relation/1',
      '/relation/1/contact',
    ]) {
      refusedAt(await anna.call('GET', at + path), 404, 'not-found')
    }
    refusedAt(await anna.call('PUT', at, { name: { displayName: 'Eve' } }), 404, 'not-found')
    refusedAt(await anna.call('DELETE', `${at}/contact/${phone.contactId}`), 404, 'not-found')
  })
})

import assert from 'node:assert/strict'
import { connectUsers, createOwner, type Owner } from '../../harness/care/owners.ts'
import { assertProblemPlaces } from '../../harness/clients/path-client.ts'

describe('the network', () => {
  let anna: Owner
  let bob: Owner
  beforeEach(async () => {
    anna = await createOwner({ name: 'Anna' })
    bob = await createOwner({ name: 'Bob' })
  })
  const stateOf = async (one: Owner, other: Owner) =>
    (await one.call('GET', `network/${other.mvUid}`)).body.state

  it('needs a request of one side and the agreement of the other', async () => {
    const answer = await anna.call('POST', 'network', { mvUid: bob.mvUid })
    assert.equal(answer.status, 201, JSON.stringify(answer.body))
    assert.equal(answer.headers.get('location'), `/profile/${anna.mvUid}/network/${bob.mvUid}`)
    assert.deepEqual([await stateOf(anna, bob), await stateOf(bob, anna)], ['PENDING_OUT', 'PENDING_IN'])
    const second = await anna.call('POST', 'network', { mvUid: bob.mvUid })
    assert.deepEqual([second.status, second.body.state], [201, 'PENDING_OUT'])
    const accepted = await bob.call('POST', 'network', { mvUid: anna.mvUid })
    assert.deepEqual([accepted.status, accepted.body.state], [201, 'CONNECTED'])
    assert.deepEqual([await stateOf(anna, bob), await stateOf(bob, anna)], ['CONNECTED', 'CONNECTED'])
    const { items } = (await anna.call('GET', 'network')).body
    assert.deepEqual(
      items.map(({ mvUid, state }: { mvUid: string; state: string }) => [mvUid, state]),
      [[bob.mvUid, 'CONNECTED']],
    )
  })

  it('connects two users who ask each other concurrently', async () => {
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

  it('ends for both if either ends it', async () => {
    await connectUsers(anna, bob)
    assertProblemPlaces(
      await bob.call('DELETE', `network/${anna.mvUid}`, undefined, { 'if-match': '"1"' }),
      412,
      'precondition-failed',
    )
    assert.equal((await bob.call('DELETE', `network/${anna.mvUid}`)).status, 204)
    assertProblemPlaces(await anna.call('GET', `network/${bob.mvUid}`), 404, 'not-found')
    assertProblemPlaces(await bob.call('GET', `network/${anna.mvUid}`), 404, 'not-found')
    assertProblemPlaces(await bob.call('DELETE', `network/${anna.mvUid}`), 404, 'not-found')
    assertProblemPlaces(await anna.call('GET', `/profile/${bob.mvUid}`), 404, 'not-found')
    await connectUsers(bob, anna)
    assert.equal(await stateOf(anna, bob), 'CONNECTED')
  })

  it('continues its versions when two users connect again', async () => {
    const path = `network/${bob.mvUid}`
    let former: string | null | undefined
    for (const versions of [
      ['"2"', '"2"'],
      ['"5"', '"5"'],
      ['"8"', '"8"'],
    ]) {
      await connectUsers(anna, bob)
      const answer = await anna.call('GET', path, undefined, former ? { 'if-none-match': former } : {})
      assert.equal(answer.status, 200)
      assert.deepEqual([answer.etag, (await bob.call('GET', `network/${anna.mvUid}`)).etag], versions)
      former = answer.etag
      assert.equal((await bob.call('DELETE', `network/${anna.mvUid}`)).status, 204)
    }
  })

  it('connects only different users that exist', async () => {
    for (const mvUid of [anna.mvUid, 'nobody1234']) {
      assert.deepEqual(
        assertProblemPlaces(await anna.call('POST', 'network', { mvUid }), 422, 'rule-violated'),
        ['body.mvUid'],
      )
    }
    assertProblemPlaces(await anna.call('GET', 'network/nobody1234'), 404, 'not-found')
  })

  it('shows a connection the name, the picture and the contacts only', async () => {
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
    const profilePath = `/profile/${bob.mvUid}`
    await anna.call('POST', 'network', { mvUid: bob.mvUid })
    for (const path of ['', '/contact', '/picture', `/contact/${phone.contactId}`]) {
      assertProblemPlaces(await anna.call('GET', profilePath + path), 404, 'not-found')
    }
    await bob.call('POST', 'network', { mvUid: anna.mvUid })
    const { body } = await anna.call('GET', profilePath)
    assert.deepEqual(Object.keys(body).sort(), ['id', 'name', 'picture'])
    assert.equal(body.name.displayName, 'Bob')
    assert.deepEqual((await anna.call('GET', `${profilePath}/contact`)).body.items, [phone])
    assert.deepEqual((await anna.call('GET', `${profilePath}/contact/${phone.contactId}`)).body, phone)
    for (const path of [
      '/address',
      '/relation',
      '/network',
      '/export',
      '/relation/1',
      '/relation/1/contact',
    ]) {
      assertProblemPlaces(await anna.call('GET', profilePath + path), 404, 'not-found')
    }
    assertProblemPlaces(
      await anna.call('PUT', profilePath, { name: { displayName: 'Eve' } }),
      404,
      'not-found',
    )
    assertProblemPlaces(
      await anna.call('DELETE', `${profilePath}/contact/${phone.contactId}`),
      404,
      'not-found',
    )
  })
})

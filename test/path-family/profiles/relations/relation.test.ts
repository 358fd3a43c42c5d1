import assert from 'node:assert/strict'
import { RelationTypeEnum } from '../../../../schemas/enums.ts'
import { createOwner, type Owner } from '../../../harness/care/owners.ts'
import { assertProblemPlaces, assertStatus } from '../../../harness/clients/path-client.ts'
import { recordTransactions } from '../../../harness/service/database-commands.ts'
import { service } from '../../../harness/service/service.ts'

const name = { displayName: 'Bea' }

describe('relations', () => {
  let anna: Owner
  beforeEach(async () => {
    anna = await createOwner()
  })
  const add = (body: object) => anna.call('POST', 'relation', body)

  it('are numbered, and found by the number alone, too', async () => {
    const sibling = await add({ name, type: 'SIBLING', birthDate: '1980-01-31' })
    assert.equal(sibling.status, 201, JSON.stringify(sibling.body))
    assert.equal(sibling.body.id, 'party:relation:1')
    assert.equal(sibling.headers.get('location'), `/profile/${anna.mvUid}/relation/party:relation:1`)
    assert.deepEqual(
      [sibling.body.type, sibling.body.birthDate, sibling.body.gender],
      ['SIBLING', '1980-01-31', null],
    )
    for (const id of ['1', 'party:relation:1', 'party%3Arelation%3A1']) {
      assert.deepEqual((await anna.call('GET', `relation/${id}`)).body, sibling.body)
    }
    for (const id of ['2', 'party:relation:2', '999999999999999']) {
      assertProblemPlaces(await anna.call('GET', `relation/${id}`), 404, 'not-found')
    }
    for (const id of ['one', '-1', '1.5', 'party:person:1', '1e3', '1'.repeat(16)]) {
      assertProblemPlaces(await anna.call('GET', `relation/${id}`), 400, 'invalid-input')
    }
  })

  it('get different numbers in concurrent requests', async () => {
    const added = await Promise.all(Array.from({ length: 12 }, () => add({ name })))
    assert.ok(added.every(({ status }) => status === 201))
    assert.equal(new Set(added.map(({ body }) => body.id)).size, 12)
    const { body } = await anna.call('GET', 'relation')
    assert.deepEqual(
      body.items.map(({ id }: { id: string }) => id),
      Array.from({ length: 12 }, (_, i) => `party:relation:${i + 1}`),
    )
  })

  it('may have a free number that the client chooses', async () => {
    assert.equal((await add({ name, id: '7' })).body.id, 'party:relation:7')
    assertProblemPlaces(await add({ name, id: 'party:relation:7' }), 409, 'conflict')
    assert.equal((await add({ name })).body.id, 'party:relation:8')
    assertProblemPlaces(await add({ name, id: '0' }), 400, 'invalid-input')
  })

  it('are replaced as a whole', async () => {
    const { body } = await add({ name, type: 'NURSE', gender: 'FEMALE', language: 'en', note: '<b>x</b>' })
    const put = await anna.call('PUT', 'relation/1', { id: '1', name: { displayName: 'B' } })
    assert.equal(put.status, 200)
    assert.equal(put.etag, '"2"')
    const { name: newName, ...rest } = put.body
    assert.equal(newName.displayName, 'B')
    const gone = { type: null, gender: null, language: null, note: null, nationality: null, birthDate: null }
    assert.deepEqual(rest, { id: body.id, ...gone })
    assertProblemPlaces(
      await anna.call('PUT', 'relation/1', put.body, { 'if-match': '"1"' }),
      412,
      'precondition-failed',
    )
    assert.equal((await anna.call('PUT', 'relation/1', put.body, { 'if-match': '"2"' })).status, 200)
    assertProblemPlaces(await anna.call('PUT', 'relation/2', { name }), 404, 'not-found')
    const mismatch = await anna.call('PUT', 'relation/1', { name, id: 'party:relation:2' })
    assert.deepEqual(assertProblemPlaces(mismatch, 400, 'id-mismatch'), ['body.id'])
  })

  it('have one of the 42 types of the specification', async () => {
    assert.equal(RelationTypeEnum.enum.length, 42)
    const places = assertProblemPlaces(await add({ name, type: 'ENEMY' }), 400, 'invalid-input')
    assert.deepEqual(places, ['body.type'])
  })

  it('are marked as owned or not', async () => {
    await add({ name })
    const owns = async (relationId: string) => {
      const { status, body } = await anna.call('POST', 'relation/owns', { relationId })
      assert.equal(status, 200)
      return body
    }
    assert.deepEqual(await owns('1'), { owns: true })
    assert.deepEqual(await owns('party:relation:1'), { owns: true })
    assert.deepEqual(await owns('2'), { owns: false })
    const bob = await createOwner()
    const { body } = await bob.call('POST', 'relation/owns', { relationId: '1' })
    assert.deepEqual(body, { owns: false })
  })

  it('are deleted', async () => {
    await add({ name })
    assertProblemPlaces(
      await anna.call('DELETE', 'relation/1', undefined, { 'if-match': '"2"' }),
      412,
      'precondition-failed',
    )
    assert.equal((await anna.call('DELETE', 'relation/1', undefined, { 'if-match': '"1"' })).status, 204)
    assertProblemPlaces(await anna.call('DELETE', 'relation/1'), 404, 'not-found')
    assert.equal((await add({ name })).body.id, 'party:relation:2')
  })

  /** Gives an owner more records of the kind of an existing one, as an earlier version could. */
  async function addCopies(collection: string, one: { _id: string }, count: number) {
    const documents = service.db.collection<{ _id: string }>(collection)
    const copies = Array.from({ length: count }, (_, i) => ({ ...one, _id: `${one._id}${i}` }))
    await documents.insertMany(copies)
  }

  it('have at most 100 addresses and 100 contacts, as their person has', async () => {
    await add({ name })
    for (const owner of ['', 'relation/1/'])
      for (const [kind, body] of [
        ['address', { usage: 'HOME' }],
        ['contact', { type: 'SKYPE', value: 'bea.smit', primary: false }],
      ] as const) {
        const collection = kind === 'address' ? 'profile.addresses' : 'profile.contacts'
        const post = () => anna.call('POST', `${owner}${kind}`, body)
        assertStatus(await post(), 201)
        const id = owner === '' ? anna.mvUid : `${anna.mvUid}/1`
        const one = await service.db.collection<{ _id: string }>(collection).findOne({ owner: id })
        assert.ok(one, collection)
        await addCopies(collection, one, 98)
        assertStatus(await post(), 201)
        assertProblemPlaces(await post(), 422, 'rule-violated')
        const last = (await anna.call('GET', `${owner}${kind}?limit=1`)).body.items[0]
        assertStatus(await anna.call('DELETE', `${owner}${kind}/${last[`${kind}Id`]}`), 204)
        assertStatus(await post(), 201)
      }
  })

  it('are deleted with thousands of contacts by few commands', async () => {
    await add({ name })
    const contact = { type: 'SKYPE', value: 'bea.smit', primary: false }
    assertStatus(await anna.call('POST', 'relation/1/contact', contact), 201)
    const contacts = service.db.collection<{ _id: string }>('profile.contacts')
    const owner = `${anna.mvUid}/1`
    const one = await contacts.findOne({ owner })
    assert.ok(one)
    await addCopies('profile.contacts', one, 2_000)
    const [deletion] = await recordTransactions(async () =>
      assertStatus(await anna.call('DELETE', 'relation/1'), 204),
    )
    assert.equal(await contacts.countDocuments({ owner }), 0)
    assert.equal(deletion?.documents['history.changes'], 2_002)
    assert.ok(deletion.commands < 200, `${deletion.commands} commands`)
  })
})

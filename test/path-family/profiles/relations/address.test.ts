import assert from 'node:assert/strict'
import { createOwner, type Owner } from '../../../harness/care/owners.ts'
import { assertProblemPlaces } from '../../../harness/clients/path-client.ts'
import { service } from '../../../harness/service/service.ts'

const full = {
  country: 'NL',
  label: 'Home',
  lat: 52.3702,
  lng: 4.8952,
  locality: 'Amsterdam',
  note: '<p>Ring the <b>upper</b> bell</p>',
  postalCode: '1012 JS',
  region: 'Noord-Holland',
  streetAddress: 'Dam 1',
  usage: 'HOME',
}
const { usage: _, ...mayBeNull } = full
const nothing = Object.fromEntries(Object.keys(mayBeNull).map((field) => [field, null]))

describe('addresses', () => {
  let anna: Owner
  let relation: string
  beforeEach(async () => {
    anna = await createOwner()
    relation = (await anna.call('POST', 'relation', { name: { displayName: 'Bea' } })).body.id
  })

  for (const ownerName of ['a person', 'a relation']) {
    describe(`of ${ownerName}`, () => {
      let at: string
      beforeEach(() => {
        at = ownerName === 'a person' ? 'address' : `relation/${relation}/address`
      })

      it('are added, listed, replaced and deleted', async () => {
        const added = await anna.call('POST', at, full)
        assert.equal(added.status, 201, JSON.stringify(added.body))
        const { addressId } = added.body
        assert.deepEqual(added.body, { addressId, ...full })
        const path = added.headers.get('location') ?? ''
        assert.equal(path, `/profile/${anna.mvUid}/${at}/${addressId}`)
        assert.deepEqual((await anna.call('GET', path)).body, added.body)
        assert.deepEqual((await anna.call('GET', at)).body.items, [added.body])
        const put = await anna.call('PUT', path, { addressId, usage: 'POSTAL' })
        assert.equal(put.status, 200)
        assert.deepEqual(put.body, { addressId, ...nothing, usage: 'POSTAL' })
        assert.equal(put.etag, '"2"')
        assertProblemPlaces(
          await anna.call('PUT', path, put.body, { 'if-match': '"1"' }),
          412,
          'precondition-failed',
        )
        assertProblemPlaces(
          await anna.call('DELETE', path, undefined, { 'if-match': '"1"' }),
          412,
          'precondition-failed',
        )
        assert.equal((await anna.call('PUT', path, put.body, { 'if-match': '"2"' })).status, 200)
        assert.equal((await anna.call('DELETE', path)).status, 204)
        assertProblemPlaces(await anna.call('DELETE', path), 404, 'not-found')
        assertProblemPlaces(await anna.call('GET', path), 404, 'not-found')
        assertProblemPlaces(await anna.call('PUT', path, put.body), 404, 'not-found')
      })

      it('require the id of the path in a PUT body', async () => {
        const { body } = await anna.call('POST', at, { usage: 'HOME' })
        const put = await anna.call('PUT', `${at}/${body.addressId}`, { addressId: 'x', usage: 'HOME' })
        assert.deepEqual(assertProblemPlaces(put, 400, 'id-mismatch'), ['body.addressId'])
      })
    })
  }

  it('require valid coordinates, known countries and a usage', async () => {
    for (const [field, value] of Object.entries({
      lat: [90.0001, -91, '52'],
      lng: [180.5, -181],
      country: ['ZZ', 'nl', 'NLD'],
      usage: ['WORK', 5, undefined],
      label: ['', 'x'.repeat(201), 7],
    })) {
      for (const one of value) {
        const places = assertProblemPlaces(
          await anna.call('POST', 'address', { ...full, [field]: one }),
          400,
          'invalid-input',
        )
        assert.deepEqual([...new Set(places)], [`body.${field}`], String(one))
      }
    }
    const edge = await anna.call('POST', 'address', { usage: 'HOME', lat: -90, lng: 180 })
    assert.equal(edge.status, 201)
  })

  it('store text unchanged', async () => {
    const streetAddress = 'O\'Connell St. 1 \u{1F3E0} ‮ $where {"$gt":""}'
    const { body } = await anna.call('POST', 'address', { usage: 'HOME', streetAddress })
    assert.equal(body.streetAddress, streetAddress)
  })

  it('are deleted with their relation', async () => {
    const { body } = await anna.call('POST', 'relation', { name: { displayName: 'Cas' } })
    const path = `relation/${body.id}/address`
    const added = await Promise.all([1, 2, 3].map(() => anna.call('POST', path, full)))
    const [addition, removed] = await Promise.all([
      anna.call('POST', path, full),
      anna.call('DELETE', `relation/${body.id}`),
    ])
    assert.ok([201, 404].includes(addition.status))
    assert.equal(removed.status, 204)
    assertProblemPlaces(await anna.call('GET', path), 404, 'not-found')
    for (const { headers } of added) {
      assertProblemPlaces(await anna.call('GET', headers.get('location') ?? ''), 404, 'not-found')
    }
    const left = await service.db
      .collection('profile.addresses')
      .countDocuments({ owner: `${anna.mvUid}/${body.id.split(':')[2]}` })
    assert.equal(left, 0)
  })
})

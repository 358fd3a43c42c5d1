import assert from 'node:assert/strict'
import { createOwner, type Owner } from '../../../harness/care/owners.ts'
import { type Answer, assertProblemPlaces, assertStatus } from '../../../harness/clients/path-client.ts'
import { service } from '../../../harness/service/service.ts'

const phone = { type: 'PHONE', value: '+31 20 624 1111', primary: true }

interface Contact {
  contactId: string
  type: string
  value: string
  primary: boolean
}

describe('contacts', () => {
  let anna: Owner
  beforeEach(async () => {
    anna = await createOwner()
  })

  const add = (body: object, at = 'contact'): Promise<Answer> => anna.call('POST', at, body)
  const listContacts = async (at = 'contact'): Promise<Contact[]> => (await anna.call('GET', at)).body.items
  const primaries = async (at = 'contact') =>
    (await listContacts(at)).filter(({ primary }) => primary).map(({ contactId }) => contactId)

  it('are added, with null for omitted fields', async () => {
    const added = await add(phone)
    assert.equal(added.status, 201, JSON.stringify(added.body))
    const { contactId, ...rest } = added.body
    const internationalNumber = '+31206241111'
    const nothing = { availability: null, label: null, note: null, usage: null }
    assert.deepEqual(rest, { ...phone, ...nothing, internationalNumber })
    assert.equal(added.etag, '"1"')
    assert.equal(added.headers.get('location'), `/profile/${anna.mvUid}/contact/${contactId}`)
    const got = await anna.call('GET', added.headers.get('location') ?? '')
    assert.deepEqual(got.body, added.body)
  })

  it('are replaced: omitted fields become null', async () => {
    const { body, etag } = await add({ ...phone, label: 'Office', note: '<p>ring <b>twice</b></p>' })
    const path = `contact/${body.contactId}`
    const { contactId } = body
    const put = await anna.call('PUT', path, { ...phone, contactId, usage: 'WORK' }, { 'if-match': etag })
    assert.equal(put.status, 200)
    assert.equal(put.etag, '"2"')
    const nothing = { availability: null, label: null, note: null, internationalNumber: '+31206241111' }
    assert.deepEqual(put.body, { ...phone, contactId, usage: 'WORK', ...nothing })
    assert.deepEqual((await anna.call('GET', path)).body, put.body)
  })

  it('are only replaced at the version that the client saw', async () => {
    const { body, etag } = await add(phone)
    const path = `contact/${body.contactId}`
    assertProblemPlaces(await anna.call('PUT', path, body), 428, 'precondition-required')
    const put = () => anna.call('PUT', path, body, { 'if-match': etag })
    assert.equal((await put()).etag, '"2"')
    const stale = await put()
    assertProblemPlaces(stale, 412, 'precondition-failed')
    assert.equal(stale.etag, '"2"')
    const outdated = await anna.call('DELETE', path, undefined, { 'if-match': '"1"' })
    assertProblemPlaces(outdated, 412, 'precondition-failed')
    assert.equal((await anna.call('DELETE', path, undefined, { 'if-match': '"2"' })).status, 204)
    assertProblemPlaces(await anna.call('GET', path), 404, 'not-found')
  })

  it('require the id of the path in the body', async () => {
    const { body, etag } = await add(phone)
    const path = `contact/${body.contactId}`
    const other = await anna.call('PUT', path, { ...body, contactId: 'another1' }, { 'if-match': etag })
    assert.deepEqual(assertProblemPlaces(other, 400, 'id-mismatch'), ['body.contactId'])
    const none = await anna.call('PUT', path, phone, { 'if-match': etag })
    assert.deepEqual(assertProblemPlaces(none, 400, 'invalid-input'), ['body.contactId'])
  })

  it('require values that match their type', async () => {
    const good: [type: string, value: string][] = [
      ['EMAIL', 'anna@example.org'],
      ['MOBILE', '+31612345678'],
      ['FAX', '+44 (20) 7946 0000'],
      ['SKYPE', 'live:anna.devries'],
      ['SKYPE', 'Anna'],
      ['SKYPE', 'anna@example.org'],
      ['SKYPE', 'Anna 🩺 Vries'],
    ]
    for (const [type, value] of good) {
      assert.equal((await add({ type, value, primary: false })).status, 201, value)
    }
    const bad: [type: string, value: string][] = [
      ['EMAIL', 'anna'],
      ['EMAIL', 'anna@exаmple.org'],
      ['PHONE', 'ask my neighbour'],
      ['SKYPE', '  '],
    ]
    for (const [type, value] of bad) {
      const problem = await add({ type, value, primary: false })
      assert.deepEqual(assertProblemPlaces(problem, 422, 'rule-violated'), ['body.value'], value)
    }
    for (const value of ['anna@example.org\r\nBcc: eve@example.org', '+31 20\n624 1111']) {
      const problem = await add({ type: value.includes('@') ? 'EMAIL' : 'PHONE', value, primary: false })
      assert.deepEqual(assertProblemPlaces(problem, 400, 'invalid-input'), ['body.value'], value)
    }
  })

  it('keep numbers as they are, next to their international form where there is one', async () => {
    const cases = [
      ['+31 20 624 1111', '+31206241111'],
      ['020 624 1111', null],
      ['112', null],
      ['+31 20 624 1111 ext. 12', '+31206241111'],
    ] as const
    for (const [value, internationalNumber] of cases) {
      const { body } = await add({ type: 'PHONE', value, primary: false })
      assert.deepEqual([body.value, body.internationalNumber], [value, internationalNumber])
    }
    for (const address of [{ usage: 'POSTAL' }, { usage: 'HOME', country: 'NL' }])
      assert.equal((await anna.call('POST', 'address', address)).status, 201)
    const { body, etag } = await add({ type: 'PHONE', value: '020 624 1111', primary: false })
    assert.deepEqual([body.value, body.internationalNumber], ['020 624 1111', '+31206241111'])
    const again = await anna.call('PUT', `contact/${body.contactId}`, body, { 'if-match': etag ?? '' })
    assert.deepEqual([again.status, again.body], [200, body])
  })

  it('report all violations at once', async () => {
    const places = assertProblemPlaces(
      await add({ type: 'TELEX', primary: 'yes', usage: 'CAR', surprise: 1 }),
      400,
      'invalid-input',
    )
    assert.deepEqual(places.sort(), [
      'body.primary',
      'body.surprise',
      'body.type',
      'body.usage',
      'body.value',
    ])
  })

  describe('have at most one primary contact of each type:', () => {
    const put = async (id: string | undefined, change: object) => {
      const { body, etag } = await anna.call('GET', `contact/${id}`)
      return anna.call('PUT', `contact/${id}`, { ...body, ...change }, { 'if-match': etag })
    }
    it('none until one is sent, then the latest', async () => {
      const first = await add({ ...phone, primary: false })
      assert.equal(first.body.primary, false)
      const second = await add(phone)
      await add({ type: 'EMAIL', value: 'a@example.org', primary: true })
      assert.equal((await primaries()).length, 2)
      const third = await add(phone)
      assert.ok((await primaries()).includes(third.body.contactId))
      assert.equal((await primaries()).length, 2)
      assert.equal((await put(second.body.contactId, { primary: true })).body.primary, true)
      assert.equal((await put(first.body.contactId, { type: 'EMAIL', value: 'b@example.org' })).status, 200)
      assert.equal((await primaries()).length, 2)
      assert.equal((await put(first.body.contactId, { primary: true })).body.primary, true)
      assert.deepEqual((await primaries()).sort(), [first, second].map(({ body }) => body.contactId).sort())
    })
    it('no other one if it is deleted, changes its type or stops being primary', async () => {
      const [a, b, c] = [await add({ ...phone, primary: false }), await add(phone), await add(phone)]
      const ids = [a, b, c].map(({ body }) => body.contactId as string)
      assert.deepEqual(await primaries(), [ids[2]])
      assert.equal((await put(ids[2], { primary: false })).body.primary, false)
      assert.deepEqual(await primaries(), [])
      await put(ids[1], { primary: true })
      await add({ ...phone, type: 'MOBILE' })
      await put(ids[1], { type: 'MOBILE' })
      assert.deepEqual(await primaries(), [ids[1]])
      await anna.call('DELETE', `contact/${ids[1]}`)
      assert.deepEqual(await primaries(), [])
      assert.equal((await anna.call('GET', `contact/${ids[0]}`)).etag, a.etag)
    })
    it('one after concurrent writes of primary ones', async () => {
      await Promise.all(Array.from({ length: 10 }, (_, i) => add({ ...phone, label: `number ${i}` })))
      assert.equal((await primaries()).length, 1)
      const ids = (await listContacts()).map(({ contactId }) => contactId)
      const changes = ids.map(async (id, i) => {
        if (i % 3 === 0) return anna.call('DELETE', `contact/${id}`)
        const body = { ...phone, contactId: id, primary: i % 3 === 1 }
        // Other writes may have made another contact the primary one, and so have changed this one.
        for (;;) {
          const { etag } = await anna.call('GET', `contact/${id}`)
          const answer = await anna.call('PUT', `contact/${id}`, body, { 'if-match': etag })
          if (answer.status !== 412) return answer
        }
      })
      for (const { status } of await Promise.all(changes))
        assert.ok([200, 204].includes(status), String(status))
      assert.equal((await primaries()).length, 1)
    })
  })

  it('come in pages', async () => {
    for (let i = 0; i < 5; i++) await add({ ...phone, label: `number ${i}` })
    const firstPage = await anna.call('GET', 'contact?limit=2&count=true')
    assert.deepEqual([firstPage.body.items.length, firstPage.body.page.total], [2, 5])
    const labels = firstPage.body.items.map(({ label }: { label: string }) => label)
    let { next } = firstPage.body.page
    while (next) {
      const { body } = await anna.call('GET', `contact?limit=2&cursor=${next}`)
      labels.push(...body.items.map(({ label }: { label: string }) => label))
      next = body.page.next
    }
    assert.deepEqual(labels, ['number 0', 'number 1', 'number 2', 'number 3', 'number 4'])
    assertProblemPlaces(await anna.call('GET', 'contact?limit=1001'), 400, 'invalid-input')
    assertProblemPlaces(await anna.call('GET', 'contact?cursor=abc'), 400, 'malformed-request')
  })

  it('are at most 100 for a person, and as many for each relation', async () => {
    assertStatus(await add(phone), 201)
    const contacts = service.db.collection<{ _id: string }>('profile.contacts')
    const stored = await contacts.findOne({ owner: anna.mvUid })
    const copies = Array.from({ length: 99 }, (_, i) => ({ ...stored, _id: `${stored?._id}-${i}` }))
    await contacts.insertMany(copies.slice(1))
    assertStatus(await add(phone), 201)
    const full = await add(phone)
    assert.deepEqual([full.status, full.body.errors[0].code], [422, 'full'])
    const { body } = await anna.call('POST', 'relation', { name: { displayName: 'Bea' } })
    assertStatus(await add(phone, `relation/${body.id}/contact`), 201)
  })

  it('are created once for a repeated Idempotency-Key', async () => {
    const key = { 'idempotency-key': 'once-1' }
    const answers = await Promise.all([1, 2].map(() => anna.call('POST', 'contact', phone, key)))
    assert.ok(answers.every(({ status }) => [201, 409].includes(status)))
    const retried = await anna.call('POST', 'contact', phone, key)
    assert.equal(retried.status, 201)
    assert.deepEqual(
      (await listContacts()).map(({ contactId }) => contactId),
      [retried.body.contactId],
    )
    const other = await anna.call('POST', 'contact', { ...phone, label: 'x' }, key)
    assertProblemPlaces(other, 422, 'idempotency-key-reused')
  })

  it('may belong to a relation, with a primary one of its own', async () => {
    const { body } = await anna.call('POST', 'relation', { name: { displayName: 'Bea' } })
    const path = `relation/${body.id}/contact`
    const ownContact = await add(phone)
    const hers = await add(phone, path)
    assert.deepEqual(await primaries(), [ownContact.body.contactId])
    assert.deepEqual(await primaries(path), [hers.body.contactId])
    assertProblemPlaces(await anna.call('GET', `contact/${hers.body.contactId}`), 404, 'not-found')
    assertProblemPlaces(await anna.call('GET', `${path}/${ownContact.body.contactId}`), 404, 'not-found')
    assertProblemPlaces(await add(phone, 'relation/999/contact'), 404, 'not-found')
    assertProblemPlaces(await anna.call('GET', 'relation/999/contact'), 404, 'not-found')
  })
})

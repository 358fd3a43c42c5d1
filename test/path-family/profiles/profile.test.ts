import assert from 'node:assert/strict'
import sharp from 'sharp'
import { connectUsers, createOwner, type Owner } from '../../harness/care/owners.ts'
import { assertProblemPlaces, assertStatus } from '../../harness/clients/path-client.ts'
import { password } from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'

const fullName = {
  displayName: 'Anna de Vries',
  displayNameLetters: 'A. de Vries',
  familyName: 'Vries',
  familyNameSpouse: 'Jong',
  givenName: 'Anna',
  honorificPostfix: 'MSc',
  honorificPrefix: 'dr.',
  initials: 'A.',
  note: '<i>Anna</i>',
  prefixFamilyName: 'de',
  prefixFamilyNameSpouse: 'de',
}
const noName = Object.fromEntries(Object.keys(fullName).map((name) => [name, null]))
const full = {
  birthDate: '1980-02-29',
  gender: 'FEMALE',
  language: 'nl-NL',
  name: fullName,
  nationality: 'NL',
  note: '<p>Left-handed</p>',
  timeZone: 'Europe/Amsterdam',
}
const unknown = { birthDate: null, gender: null, language: null }
const nothing = { ...unknown, nationality: null, note: null, timeZone: null }

/** The history of a profile, or of the person's own data; the newest first. */
const changesOf = ({ mvUid }: Owner, of = 'profile.persons') =>
  service.db
    .collection('history.changes')
    .find({ _id: new RegExp(`${of.replace('.', '\\.')}.*${mvUid}`) as never })
    .sort({ version: -1 })
    .toArray()

describe('a person', () => {
  let anna: Owner
  beforeEach(async () => {
    anna = await createOwner({ name: 'Anna' })
  })

  it('exists from the start, named like the account or the mailbox', async () => {
    const { status, body, etag } = await anna.call('GET', '')
    assert.equal(status, 200)
    assert.equal(etag, '"1"')
    const name = { ...noName, displayName: 'Anna' }
    assert.deepEqual(body, { id: anna.mvUid, picture: null, name, ...nothing })
    const bob = await createOwner()
    const { name: bobs } = (await bob.call('GET', '')).body
    assert.equal(bobs.displayName, bob.email.split('@')[0])
  })

  it('is saved as a whole: omitted fields become null', async () => {
    const answer = await anna.call('PUT', '', { id: anna.mvUid, ...full })
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    assert.deepEqual(answer.body, { id: anna.mvUid, picture: null, ...full })
    assert.deepEqual((await anna.call('GET', '')).body, answer.body)
    const less = await anna.call('PUT', '', { name: { displayName: 'A' } })
    const name = { ...noName, displayName: 'A' }
    assert.deepEqual(less.body, { id: anna.mvUid, picture: null, name, ...nothing })
    assert.equal(less.etag, '"3"')
  })

  it('is returned as sent: the response of GET is a valid PUT', async () => {
    const { body } = await anna.call('PUT', '', full)
    const second = await anna.call('PUT', '', body)
    assert.deepEqual(second.body, body)
  })

  it('respects If-Match and If-None-Match', async () => {
    const { etag } = await anna.call('PUT', '', full).then(() => anna.call('GET', ''))
    assert.equal((await anna.call('GET', '', undefined, { 'if-none-match': etag })).status, 304)
    assert.equal((await anna.call('PUT', '', full, { 'if-match': etag })).status, 200)
    const stale = await anna.call('PUT', '', full, { 'if-match': etag })
    assertProblemPlaces(stale, 412, 'precondition-failed')
    assert.notEqual(stale.etag, etag)
  })

  it('is saved for the first time once by concurrent requests', async () => {
    const bob = await createOwner()
    const names = ['a', 'b', 'c', 'd']
    const puts = await Promise.all(names.map((name) => bob.call('PUT', '', { name: { displayName: name } })))
    assert.deepEqual(puts.map(({ etag }) => etag).sort(), ['"2"', '"3"', '"4"', '"5"'])
    const last = puts.find(({ etag }) => etag === '"5"')
    assert.deepEqual((await bob.call('GET', '')).body, last?.body)
  })

  it('has existing dates, and known countries, languages and genders', async () => {
    const bad: [field: string, value: unknown][] = [
      ...['2023-02-30', '275760-09-13', '2023-2-3', '2023-02-03T00:00:00Z', '', '1900-02-29'].map(
        (value): [string, unknown] => ['birthDate', value],
      ),
      ...['XX', 'nl', 'NLD', 'EU', ''].map((value): [string, unknown] => ['nationality', value]),
      ...['xx', 'dut', 'nl-XX', 'nl_NL', 'nl-NL-x', ''].map((value): [string, unknown] => [
        'language',
        value,
      ]),
      ['gender', 'OTHER'],
      ['note', 5],
    ]
    for (const [field, value] of bad) {
      const places = assertProblemPlaces(
        await anna.call('PUT', '', { ...full, [field]: value }),
        400,
        'invalid-input',
      )
      assert.deepEqual(places, [`body.${field}`], String(value))
    }
    const { body } = await anna.call('PUT', '', { ...full, language: 'NL-be', birthDate: '2024-02-29' })
    assert.deepEqual([body.language, body.birthDate], ['nl-BE', '2024-02-29'])
  })

  it('has a date of birth that is not in the future, and not before 1850', async () => {
    const day = (offset: number) => new Date(Date.now() + offset * 86_400_000).toISOString().slice(0, 10)
    assertStatus(await anna.call('POST', 'relation', { name: { displayName: 'Bea' } }), 201)
    for (const birthDate of [day(2), '2980-01-31', '1849-12-31', '0001-01-01'])
      for (const [method, path] of [
        ['PUT', ''],
        ['POST', 'relation'],
        ['PUT', 'relation/1'],
      ] as const) {
        const places = assertProblemPlaces(
          await anna.call(method, path, { name: { displayName: 'Bea' }, birthDate }),
          422,
          'rule-violated',
        )
        assert.deepEqual(places, ['body.birthDate'], `${method} ${path} ${birthDate}`)
      }
    for (const birthDate of [day(0), '1850-01-01', null])
      assertStatus(await anna.call('PUT', '', { ...full, birthDate }))
  })

  it('requires a display name', async () => {
    for (const name of [undefined, {}, { displayName: '' }, { displayName: ' ' }, { displayName: null }]) {
      const [place] = assertProblemPlaces(await anna.call('PUT', '', { ...full, name }), 400, 'invalid-input')
      assert.match(place ?? '', /^body\.name/)
    }
    assert.deepEqual(
      assertProblemPlaces(
        await anna.call('PUT', '', { name: { displayName: 'A', nick: 'a' } }),
        400,
        'invalid-input',
      ),
      ['body.name.nick'],
    )
  })

  it('has a name in any writing, but not one that changes the order of other texts', async () => {
    const save = (displayName: string) => anna.call('PUT', '', { name: { displayName } })
    for (const displayName of [
      'علی\u200cرضا',
      'Anna \u{1f469}\u200d\u2695\ufe0f',
      'Jan\u00adsen',
      'דנה\u200f',
    ])
      assert.equal(assertStatus(await save(displayName)).name.displayName, displayName)
    for (const displayName of ['Anna\u202e', '\u2066Anna', '\u200b', ' \u200d', 'An\u2028na']) {
      const answer = await save(displayName)
      assert.ok(
        assertProblemPlaces(answer, 400, 'invalid-input').includes('body.name.displayName'),
        displayName,
      )
      assert.match(answer.body.errors[0].message, / must begin with a visible character/)
    }
  })

  it('stores no harmful HTML', async () => {
    const attacks: [sent: string, kept: string][] = [
      ['<p onclick="x()">a</p>', '<p>a</p>'],
      ['<script>alert(1)</script>b', 'b'],
      ['<a href="javascript:alert(1)">c</a>', '<a>c</a>'],
      ['<a href="https://example.org" target="_blank">d</a>', '<a href="https://example.org">d</a>'],
      ['<img src=x onerror=alert(1)>e', 'e'],
      ['<svg><a xlink:href="javascript:x">f</a></svg>', '<a>f</a>'],
      ['<style>p{}</style><p style="color:red">g</p>', '<p>g</p>'],
      ['<iframe src="https://evil.example"></iframe>h', 'h'],
      ['<math><mi//xlink:href="data:x,<script>alert(4)</script>">', ''],
    ]
    for (const [html, sanitizedHtml] of attacks) {
      const name = { displayName: 'A', note: html }
      const { status, body } = await anna.call('PUT', '', { ...full, name, note: html })
      assert.equal(status, 200)
      assert.deepEqual([body.note, body.name.note], [sanitizedHtml, sanitizedHtml])
    }
    const stored = await service.db
      .collection<{ _id: string }>('profile.persons')
      .findOne({ _id: anna.mvUid })
    assert.doesNotMatch(JSON.stringify(stored), /script|onclick|javascript/)
    const long = await anna.call('PUT', '', { ...full, note: '&'.repeat(9000) })
    assert.deepEqual(assertProblemPlaces(long, 422, 'rule-violated'), ['body.note'])
  })

  it('keeps its id', async () => {
    const places = assertProblemPlaces(
      await anna.call('PUT', '', { ...full, id: 'somebody12' }),
      400,
      'id-mismatch',
    )
    assert.deepEqual(places, ['body.id'])
  })

  it('is removed with all data, history included, and may start again', async () => {
    const bob = await createOwner()
    await connectUsers(anna, bob)
    const { body: relation } = await anna.call('POST', 'relation', { name: { displayName: 'Bea' } })
    await anna.call('POST', 'address', { usage: 'HOME' })
    await anna.call('POST', `relation/${relation.id}/address`, { usage: 'HOME' })
    const { body: gone } = await anna.call('POST', 'contact', {
      type: 'FAX',
      value: '+31206241111',
      primary: true,
    })
    await anna.call('DELETE', `contact/${gone.contactId}`)
    await anna.call('PUT', '', full)
    assertProblemPlaces(
      await anna.call('DELETE', '', undefined, { 'if-match': '"9"' }),
      412,
      'precondition-failed',
    )
    assert.equal((await anna.call('DELETE', '')).status, 204)
    assertProblemPlaces(await anna.call('GET', ''), 404, 'not-found')
    assertProblemPlaces(await anna.call('DELETE', ''), 404, 'not-found')
    for (const path of ['address', 'contact', 'relation', 'network']) {
      assert.deepEqual((await anna.call('GET', path)).body.items, [], path)
    }
    assert.deepEqual((await bob.call('GET', 'network')).body.items, [])
    const ours = await changesOf(anna, 'profile')
    assert.deepEqual(
      ours.map(({ action, before }) => [action, before]),
      [['delete', null]],
    )
    const recreated = await anna.call('PUT', '', { name: { displayName: 'Anna' } })
    assert.equal(recreated.status, 200)
    const { body: next } = await anna.call('POST', 'relation', { name: { displayName: 'Cas' } })
    assert.notEqual(next.id, relation.id)
  })

  it('is deleted with the account', async () => {
    const bob = await createOwner()
    await connectUsers(anna, bob)
    await anna.call('GET', '')
    await anna.call('POST', 'address', { usage: 'HOME' })
    assert.equal(
      (await anna.call('DELETE', `/auth/account/${anna.mvUid}`, { currentPassword: password })).status,
      204,
    )
    for (const { name } of await service.db.listCollections().toArray()) {
      if (!/^(profile|history)\./.test(name)) continue
      const id = new RegExp(name.startsWith('history.') ? `profile\\..*${anna.mvUid}` : anna.mvUid)
      assert.equal(await service.db.collection(name).countDocuments({ _id: id as never }), 0, name)
    }
  })

  it('keeps a history of its changes', async () => {
    await anna.call('PUT', '', full)
    await anna.call('PUT', '', { ...full, gender: null })
    const items = await changesOf(anna)
    assert.deepEqual(
      items.map(({ action, version, changed, userId }) => [action, version, changed, userId]),
      [
        ['update', 3, ['gender'], anna.mvUid],
        ['update', 2, Object.keys(full).sort(), anna.mvUid],
        ['create', 1, [], anna.mvUid],
      ],
    )
    assert.equal(items[0]?.before?.gender, 'FEMALE')
  })

  it('continues its versions after a removal, so that no old ETag matches', async () => {
    const owner = await createOwner()
    const save = (displayName: string, headers = {}) =>
      owner.call('PUT', '', { name: { displayName } }, headers)
    const { etag } = await save('First')
    assertStatus(await owner.call('DELETE', ''), 204)
    for (const name of ['Second', 'Third']) assertStatus(await save(name))
    assertStatus(await owner.call('GET', '', undefined, { 'if-none-match': etag }), 200)
    assertStatus(await save('Stale', { 'if-match': etag }), 412)

    const upload = async (background: string) => {
      const picture = sharp({ create: { width: 8, height: 8, channels: 3, background } }).png()
      const type = { 'content-type': 'image/png' }
      return assertStatus(await owner.call('POST', 'picture', await picture.toBuffer(), type), 201)
    }
    await upload('black')
    const { etag: pictureTag } = await owner.call('GET', 'picture')
    assertStatus(await owner.call('DELETE', 'picture'), 204)
    await upload('red')
    const { status } = await owner.call('GET', 'picture', undefined, { 'if-none-match': pictureTag })
    assert.equal(status, 200)
  })
})

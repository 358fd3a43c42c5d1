import assert from 'node:assert/strict'
import { storedPermissions } from '../../../records/store/documents/parse-format.ts'
import { connect, type ProfileService, startProfiles, type TestPerson } from './profile-service.ts'

interface Line {
  kind: string
  // biome-ignore lint/suspicious/noExplicitAny: whatever is kept
  data: any
}

describe('the export of all that is kept about a person', () => {
  let service: ProfileService
  let anna: TestPerson
  before(async () => {
    service = await startProfiles()
    anna = await service.newPerson({ name: 'Anna' })
    await furnish()
  })
  after(() => service.close())

  const exported = async (by: TestPerson): Promise<Line[]> => {
    const { status, headers, body } = await by.send('GET', `/profile/${anna.mvUid}/export`)
    assert.equal(status, 200)
    assert.equal(headers.get('content-type'), 'application/x-ndjson')
    assert.match(headers.get('content-disposition') ?? '', /^attachment/)
    return (body as Buffer)
      .toString()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
  }
  const insert = (
    collection: string,
    document: { _id: string; [field: string]: unknown },
    reader: string,
  ) => {
    const at = new Date()
    const meta = { version: 1, _created_at: at, _updated_at: at }
    const permissions = storedPermissions({ read: [reader], write: [reader] })
    return service.db
      .collection<{ _id: string }>(collection)
      .insertOne({ ...document, ...meta, ...permissions } as { _id: string })
  }

  async function furnish(): Promise<void> {
    const bob = await service.newPerson({ name: 'Bob' })
    await bob.send('PUT', '', { name: { displayName: 'Bob' }, note: 'of Bob' })
    await connect(anna, bob)
    await anna.send('PUT', '', { name: { displayName: 'Anna' }, birthDate: '1980-02-01' })
    await anna.send('POST', 'address', { usage: 'HOME', locality: 'Utrecht' })
    await anna.send('POST', 'contact', { type: 'EMAIL', value: 'old@example.org', primary: true })
    const { body, etag } = await anna.send('POST', 'contact', {
      type: 'EMAIL',
      value: 'was@example.org',
      primary: true,
    })
    const now = { ...body, value: 'is@example.org' }
    await anna.send('PUT', `contact/${body.contactId}`, now, { 'if-match': etag })
    await anna.send('POST', 'relation', { name: { displayName: 'Bea' } })
    await anna.send('POST', 'relation/1/contact', { type: 'SKYPE', value: 'bea.smit', primary: true })
    await insert('Ehr', { _id: 'ehrOfAnna1', subjectId: anna.mvUid }, anna.mvUid)
    await insert('Ehr', { _id: 'ehrOfBob12', subjectId: bob.mvUid }, bob.mvUid)
    await insert('CarePlan', { _id: 'planOfAnna', ehrId: 'ehrOfAnna1', name: 'Diabetes' }, anna.mvUid)
    await insert('CarePlan', { _id: 'planHidden', ehrId: 'ehrOfAnna1', name: 'Hidden' }, bob.mvUid)
    await insert('CarePlan', { _id: 'planOfBob1', ehrId: 'ehrOfBob12', name: 'Asthma' }, bob.mvUid)
    await service.db.collection<{ _id: string }>('_Session').insertOne({
      _id: 'session123',
      _p_user: `_User$${anna.mvUid}`,
      _session_token: 'r:a secret',
      device: 'phone',
    } as { _id: string })
  }

  it('holds account, sessions, profile, history, EHRs and who accessed them', async () => {
    const lines = await exported(anna)
    const of = (kind: string) => lines.filter((line) => line.kind === kind).map(({ data }) => data)
    assert.equal(of('account')[0].email, anna.email)
    assert.equal(of('session')[0].device, 'phone')
    assert.equal(of('person')[0].name.displayName, 'Anna')
    assert.deepEqual(
      of('address').map(({ locality }) => locality),
      ['Utrecht'],
    )
    assert.deepEqual(
      of('contact')
        .map(({ value }) => value)
        .sort(),
      ['bea.smit', 'is@example.org', 'old@example.org'],
    )
    assert.equal(of('relation')[0].relationId, 1)
    assert.equal(of('connection')[0].state, 'CONNECTED')
    assert.ok(of('history').some(({ before }) => before?.value === 'was@example.org'))
    assert.deepEqual(
      of('Ehr').map(({ id }) => id),
      ['ehrOfAnna1'],
    )
    assert.deepEqual(
      of('CarePlan').map(({ name }) => name),
      ['Diabetes'],
    )
    assert.ok(of('access').some(({ type, ids }) => type === 'CarePlan' && ids.includes('planOfAnna')))
  })

  it('holds no secret, and nothing of anybody else', async () => {
    const text = JSON.stringify(await exported(anna))
    assert.doesNotMatch(text, /secret|_hashed|_rperm|of Bob|Asthma|Hidden/)
  })

  it('shows an administrator nothing of the EHRs', async () => {
    const admin = await service.newPerson({ role: 'admin' })
    const kinds = new Set((await exported(admin)).map(({ kind }) => kind))
    assert.ok(kinds.has('person'))
    assert.ok(!kinds.has('Ehr') && !kinds.has('CarePlan') && !kinds.has('access'))
  })
})

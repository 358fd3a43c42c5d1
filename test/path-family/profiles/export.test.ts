import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { toStoredPermissions } from '../../../records/store/documents/parse-format.ts'
import { connectUsers, createOwner, type Owner } from '../../harness/care/owners.ts'
import { createPatient, createPlan, letTakePart } from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { actFor, createHelper } from '../../harness/people/helper-invitations.ts'
import { createAdmin, createRoleHolder, type Person } from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'

interface Line {
  kind: string
  // biome-ignore lint/suspicious/noExplicitAny: any stored data
  data: any
}

describe("the export of a person's data", () => {
  let anna: Owner
  let bob: Owner
  let analyst: Person
  let carePlanId: string
  before(async () => {
    analyst = await createRoleHolder('analyst')
    const query = { q: 'SELECT COUNT(c) FROM EHR e CONTAINS COMPOSITION c' }
    assertStatus(await analyst.call('POST', '/med/aql', query))
    await sleep(10)
    anna = await createOwner({ name: 'Anna' })
    await furnish()
  })

  const exported = async (by: Owner): Promise<Line[]> => {
    const { status, headers, body } = await by.call('GET', `/profile/${anna.mvUid}/export`)
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
    const time = new Date()
    const meta = { version: 1, _created_at: time, _updated_at: time }
    const permissions = toStoredPermissions({ read: [reader], write: [reader] })
    return service.db
      .collection<{ _id: string }>(collection)
      .insertOne({ ...document, ...meta, ...permissions } as { _id: string })
  }

  async function furnish(): Promise<void> {
    bob = await createOwner({ name: 'Bob' })
    await bob.call('PUT', '', { name: { displayName: 'Bob' }, note: 'of Bob' })
    await connectUsers(anna, bob)
    const topic = { title: 'Tomorrow', text: 'At nine?' }
    const { id } = assertStatus(await anna.call('POST', `/chat/network/${bob.mvUid}`, topic), 201)
    assertStatus(await bob.call('POST', `/chat/network/${anna.mvUid}/${id}`, { text: 'Yes' }), 201)
    await changeMessages(id)
    await takePart()
    await createHelper(anna, bob, ['READ'])
    await actFor(anna, bob)
    await anna.call('PUT', '', { name: { displayName: 'Anna' }, birthDate: '1980-02-01' })
    await anna.call('POST', 'address', { usage: 'HOME', locality: 'Utrecht' })
    await anna.call('POST', 'contact', { type: 'EMAIL', value: 'old@example.org', primary: true })
    const { body, etag } = await anna.call('POST', 'contact', {
      type: 'EMAIL',
      value: 'was@example.org',
      primary: true,
    })
    const now = { ...body, value: 'is@example.org' }
    await anna.call('PUT', `contact/${body.contactId}`, now, { 'if-match': etag })
    await anna.call('POST', 'relation', { name: { displayName: 'Bea' } })
    await anna.call('POST', 'relation/1/contact', { type: 'SKYPE', value: 'bea.smit', primary: true })
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

  /** Both write a message and change it; she also deletes one. */
  async function changeMessages(topicId: string): Promise<void> {
    for (const [author, other] of [
      [anna, bob],
      [bob, anna],
    ] as const) {
      const path = `/chat/network/${other.mvUid}/${topicId}`
      const { id, version } = assertStatus(
        await author.call('POST', path, { text: `first of ${author.mvUid}` }),
        201,
      )
      const change = { text: `second of ${author.mvUid}` }
      assertStatus(await author.call('PUT', `${path}/message/${id}`, change, { 'if-match': `"${version}"` }))
    }
    const path = `/chat/network/${bob.mvUid}/${topicId}`
    const { id } = assertStatus(await anna.call('POST', path, { text: 'withdrawn' }), 201)
    assertStatus(await anna.call('DELETE', `${path}/message/${id}`), 204)
    assertStatus(await anna.call('POST', `${path}/read`, {}), 204)
  }

  async function takePart(): Promise<void> {
    const patient = await createPatient()
    carePlanId = await createPlan(patient)
    await letTakePart(patient, carePlanId, anna, { access: 'READ' })
    const topic = { title: 'Of another patient', text: 'About the other patient' }
    assertStatus(await anna.call('POST', `/chat/careplan/${carePlanId}`, topic), 201)
  }

  it('contains account, sessions, profile, history, EHRs and accesses to them', async () => {
    const lines = await exported(anna)
    const dataOf = (kind: string) => lines.filter((line) => line.kind === kind).map(({ data }) => data)
    assert.equal(dataOf('account')[0].email, anna.email)
    assert.ok(dataOf('session').some(({ device }) => device === 'phone'))
    assert.equal(dataOf('person')[0].name.displayName, 'Anna')
    assert.deepEqual(
      dataOf('address').map(({ locality }) => locality),
      ['Utrecht'],
    )
    assert.deepEqual(
      dataOf('contact')
        .map(({ value }) => value)
        .sort(),
      ['bea.smit', 'is@example.org', 'old@example.org'],
    )
    assert.equal(dataOf('relation')[0].relationId, 1)
    assert.equal(dataOf('connection')[0].state, 'CONNECTED')
    assert.ok(dataOf('history').some(({ before }) => before?.value === 'was@example.org'))
    const ehrs = dataOf('Ehr').map(({ id }) => id)
    assert.ok(ehrs.includes('ehrOfAnna1') && !ehrs.includes('ehrOfBob12'))
    assert.deepEqual(
      dataOf('CarePlan').map(({ name }) => name),
      ['Diabetes'],
    )
    assert.ok(dataOf('access').some(({ type, ids }) => type === 'CarePlan' && ids.includes('planOfAnna')))
  })

  it('contains no secrets, and no data of others', async () => {
    const text = JSON.stringify(await exported(anna))
    assert.doesNotMatch(text, /secret|_hashed|_rperm|of Bob|Asthma|Hidden/)
  })

  it('contains the conversations with other users, and no session of a helper', async () => {
    const lines = await exported(anna)
    const dataOf = (kind: string) => lines.filter((line) => line.kind === kind).map(({ data }) => data)
    assert.deepEqual(
      dataOf('ChatTopic').map(({ title }) => title),
      ['Tomorrow'],
    )
    const second = ({ mvUid }: Owner) => `second of ${mvUid}`
    assert.deepEqual(
      dataOf('ChatMessage').map(({ text }) => text),
      ['At nine?', 'Yes', second(anna), second(bob), ''],
    )
    assert.ok(dataOf('session').every(({ helper }) => helper === undefined))
  })

  it('contains former versions of her own messages only, and her read marks', async () => {
    const lines = await exported(anna)
    const dataOf = (kind: string) => lines.filter((line) => line.kind === kind).map(({ data }) => data)
    const former = dataOf('history').flatMap(({ before }) => before?.text ?? [])
    assert.deepEqual(former, [`first of ${anna.mvUid}`, 'withdrawn'])
    const topicIds = dataOf('ChatTopic').map(({ id }) => id)
    assert.deepEqual(
      dataOf('readMark').map(({ topicId }) => topicId),
      topicIds,
    )
  })

  it('contains her participations in care plans of others, and none of their data', async () => {
    const lines = await exported(anna)
    const participations = lines.filter(({ kind }) => kind === 'participation')
    assert.deepEqual(
      participations.map(({ data }) => [data.carePlanId, data.mvUid, data.access]),
      [[carePlanId, anna.mvUid, 'READ']],
    )
    assert.doesNotMatch(JSON.stringify(lines), /about the other patient/i)
  })

  it('contains no query over every EHR from before her first EHR', async () => {
    const accesses = (await exported(anna)).filter(({ kind }) => kind === 'access')
    assert.ok(accesses.every(({ data }) => data.userId !== analyst.mvUid))
  })

  it('shows an administrator nothing of the EHRs', async () => {
    const admin = await createAdmin()
    const kinds = new Set((await exported(admin)).map(({ kind }) => kind))
    assert.ok(kinds.has('person'))
    assert.ok(!kinds.has('Ehr') && !kinds.has('CarePlan') && !kinds.has('access'))
    assert.ok(!kinds.has('ChatTopic') && !kinds.has('participation') && !kinds.has('readMark'))
  })
})

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { HOUR_MS } from '../../schemas/time/durations.ts'
import { connectUsers } from '../harness/care/owners.ts'
import { addParticipant, createPatient, createPlan, readAudit } from '../harness/care/patients.ts'
import { assertStatus } from '../harness/clients/path-client.ts'
import { termsOf } from '../harness/people/helper-invitations.ts'
import { createAddress, createPerson, type Person, password } from '../harness/people/people.ts'
import { startSecondInstance } from '../harness/service/second-instance.ts'
import { request, service } from '../harness/service/service.ts'
import { type ServiceProcess, stopProcess } from '../harness/service/service-process.ts'
import { waitUntil } from '../harness/wait.ts'

const deleteAccount = ({ mvUid, headers }: Person) =>
  request().delete(`/1/classes/_User/${mvUid}`).set(headers)
const countIn = (collection: string, filter: object) =>
  service.db.collection(collection).countDocuments(filter)

describe('attack: searching for data of a deleted account', () => {
  it('finds nothing personal after a deletion in the class family; EHRs stay', async () => {
    const patient = await createPatient()
    const leaver = await createPerson()
    const { mvUid } = leaver
    await leaver.call('PUT', `/profile/${mvUid}`, { name: { displayName: 'Anna' }, language: 'nl' })
    await connectUsers(leaver, patient)
    await addParticipant(await createPlan(patient), leaver, 'write')
    await leaver.call('PUT', `/auth/account/${mvUid}`, { email: 'elsewhere@example.org' })
    const sids = await service.db
      .collection('_Session')
      .find({ _p_user: `_User$${mvUid}` })
      .toArray()
    assert.equal(sids.length, 1)
    assertStatus(await leaver.call('PUT', `/auth/account/${mvUid}`, { name: 'Anna' }))
    const ofAccount = { _id: { $gte: `_User/${mvUid}/`, $lt: `_User/${mvUid}0` }, action: { $ne: 'delete' } }
    assert.ok((await countIn('history.changes', ofAccount)) > 0)

    await deleteAccount(leaver).expect(200)
    const left: [collection: string, filter: object][] = [
      ['_User', { _id: mvUid }],
      ['history.changes', ofAccount],
      ['_Session', { _p_user: `_User$${mvUid}` }],
      ['auth.refresh_tokens', { sid: { $in: sids.map(({ _id }) => _id) } }],
      ['auth.email_changes', { _id: mvUid }],
      ['auth.identities', { mvUid }],
      ['_Join:users:_Role', { relatedId: mvUid }],
      ['plan.participants', { mvUid, status: 'ACTIVE' }],
      ['profile.persons', { _id: { $regex: mvUid } }],
      ['profile.connections', { _id: { $regex: mvUid } }],
    ]
    for (const [collection, filter] of left) assert.equal(await countIn(collection, filter), 0, collection)
    assert.equal(await countIn('Ehr', { subjectId: mvUid }), 1)
  })

  it('finds no conversation with another user, however long it was, and all others', async () => {
    const [leaver, other, third] = await Promise.all([createPerson(), createPerson(), createPerson()])
    const talk = async (one: Person, two: Person): Promise<[topicId: string, messageId: string]> => {
      await connectUsers(one, two)
      const newTopic = { title: 'Tomorrow', text: 'At nine?' }
      const { id } = assertStatus(await one.call('POST', `/chat/network/${two.mvUid}`, newTopic), 201)
      const place = `/chat/network/${one.mvUid}/${id}`
      const message = assertStatus(await two.call('POST', place, { text: 'Yes' }), 201)
      assertStatus(await one.call('POST', `/chat/network/${two.mvUid}/${id}/read`, {}), 204)
      return [id, message.id]
    }
    const [ended, open, kept] = [
      await talk(other, leaver),
      await talk(leaver, third),
      await talk(other, third),
    ]
    assertStatus(await other.call('DELETE', `/profile/${other.mvUid}/network/${leaver.mvUid}`), 204)
    const messages = service.db.collection<{ _id: string }>('ChatMessage')
    const sample = await messages.findOne({ _id: open[1] })
    const copies = Array.from({ length: 2_100 }, (_, i) => ({ ...sample, _id: `${open[1]}${i}` }))
    await messages.insertMany(copies)

    await deleteAccount(leaver).expect(200)
    const countAll = async ([topicId, messageId]: string[]) =>
      Promise.all([
        countIn('ChatTopic', { _id: topicId }),
        countIn('ChatMessage', { topicId }),
        countIn('chat.read', { topicId }),
        countIn('history.changes', {
          _id: { $gte: `ChatMessage/${messageId}/`, $lt: `ChatMessage/${messageId}0` },
        }),
        countIn('history.changes', { _id: { $gte: `ChatTopic/${topicId}/`, $lt: `ChatTopic/${topicId}0` } }),
      ])
    // On a busy machine the response comes before the job has ended.
    const messagesLeft = { topicId: { $in: [ended[0], open[0]] } }
    await waitUntil(async () => (await countIn('ChatMessage', messagesLeft)) === 0)
    await waitUntil(async () => (await countIn('ChatTopic', { _id: messagesLeft.topicId })) === 0)
    // One entry tells the other user that the topic is gone.
    assert.deepEqual(await countAll(ended), [0, 0, 0, 0, 1])
    assert.deepEqual(await countAll(open), [0, 0, 0, 0, 1])
    assert.deepEqual(await countAll(kept), [1, 2, 1, 1, 1])
    const topicIds = [ended, open].map(([topicId]) => `ChatTopic/${topicId}/`)
    const entries = await service.db
      .collection<{ _id: string }>('history.changes')
      .find({ $or: topicIds.map((start) => ({ _id: { $gte: start, $lt: `${start}~` } })) })
      .toArray()
    assert.equal(entries.length, 2)
    assert.doesNotMatch(JSON.stringify(entries), new RegExp(`${leaver.mvUid}|Tomorrow|At nine`))
    await deleteAccount(third).expect(200)
    await waitUntil(async () => (await countIn('history.changes', { 'before._rperm': third.mvUid })) === 0)
  })

  it('finds no connection that had ended, nor its role, in the data of the other user', async () => {
    const [leaver, other, third] = await Promise.all([createPerson(), createPerson(), createPerson()])
    for (const one of [leaver, third]) {
      await connectUsers(other, one)
      const topic = { title: 'Tomorrow', text: 'At nine?' }
      assertStatus(await one.call('POST', `/chat/network/${other.mvUid}`, topic), 201)
      assertStatus(await one.call('DELETE', `/profile/${one.mvUid}/network/${other.mvUid}`), 204)
    }
    const countTraces = async ({ mvUid }: Person) => [
      await countIn('history.changes', { 'before.other': mvUid }),
      await countIn('_Role', { name: { $regex: mvUid } }),
    ]
    assert.deepEqual(await countTraces(leaver), [2, 1])
    await deleteAccount(leaver).expect(200)
    assert.deepEqual(await countTraces(leaver), [0, 0])
    assert.deepEqual(await countTraces(third), [2, 1])
  })

  it('finds no mail that the mail server has not accepted, except to others', async () => {
    const [leaver, other] = await Promise.all([createPerson(), createPerson()])
    const { mvUid, email } = leaver
    const newEmail = createAddress()
    await leaver.call('PUT', `/auth/account/${mvUid}`, { email: newEmail, currentPassword: password })
    const mails = service.db.collection<{ _id: string; [field: string]: unknown }>('mails')
    const now = new Date()
    const states = [{ dueAt: new Date(now.getTime() + HOUR_MS / 2) }, { abandonedAt: now }]
    const queue = (to: unknown) =>
      mails.insertMany(
        states.map((state) => {
          const mail = { to, template: 'alert', data: {}, attempts: 3, createdAt: now }
          return { _id: randomUUID(), ...mail, ...state }
        }),
      )
    for (const to of [email, newEmail, { mvUid }, other.email, { mvUid: other.mvUid }]) await queue(to)
    await deleteAccount(leaver).expect(200)
    assert.equal(await countIn('mails', { to: { $in: [email, newEmail, { mvUid }] } }), 0)
    const toOther = { to: { $in: [other.email, { mvUid: other.mvUid }] } }
    assert.equal(await countIn('mails', toOther), 4)
    await mails.deleteMany(toOther)
  })

  it('ends participations with history and audit', async () => {
    const [patient, leaver] = await Promise.all([createPatient(), createPerson()])
    const path = `/ehr/${patient.ehrId}/careplan/${await createPlan(patient)}/participant`
    const body = { mvUid: leaver.mvUid, access: 'WRITE' }
    const { participationId } = assertStatus(await patient.call('POST', path, body), 201)
    const since = new Date()
    await deleteAccount(leaver).expect(200)
    const { status, version } = assertStatus(await patient.call('GET', `${path}/${participationId}`))
    assert.deepEqual([status, version], ['ARCHIVED', 2])
    const start = `${patient.ehrId}/plan.participants/${participationId}`
    const [, change] = await service.db
      .collection<{ _id: string; changed?: string[]; userId?: string }>('history.changes')
      .find({ _id: { $gte: `${start}/`, $lt: `${start}0` } })
      .toArray()
    assert.deepEqual([change?.changed, change?.userId], [['status'], leaver.mvUid])
    const audit = await readAudit(patient.ehrId, since)
    assert.ok(audit.includes('update plan.participants done'), audit.join())
  })

  it('finds nothing that others began with the user at the moment of the deletion', async () => {
    const patient = await createPatient()
    const path = `/ehr/${patient.ehrId}/careplan/${await createPlan(patient)}/participant`
    for (let round = 0; round < 10; round++) {
      const leaver = await createPerson()
      const { mvUid } = leaver
      const answers = await Promise.all([
        patient.call('POST', path, { mvUid, access: 'WRITE' }),
        patient.call('POST', `/profile/${patient.mvUid}/helper`, { mvUid, ...termsOf(['READ']) }),
        patient.call('POST', `/profile/${patient.mvUid}/network`, { mvUid }),
        deleteAccount(leaver).expect(200),
      ])
      for (const { status } of answers) assert.ok([200, 201, 422].includes(status), `${status}`)
      assert.equal(await countIn('plan.participants', { mvUid, status: 'ACTIVE' }), 0)
      assert.equal(await countIn('_Join:users:_Role', { relatedId: mvUid }), 0)
      assert.equal(await countIn('auth.helpers', { helperId: mvUid }), 0)
      assert.equal(await countIn('profile.connections', { _id: { $regex: mvUid } }), 0)
    }
  })

  describe('while another instance runs', () => {
    let neighbour: ServiceProcess | undefined
    after(() => neighbour && stopProcess(neighbour))

    it('finds no conversation that an earlier version left behind, after a start', async () => {
      const [one, two] = await Promise.all([createPerson(), createPerson()])
      const insert = (name: string, document: { _id: string; [field: string]: unknown }) => {
        const time = new Date()
        const meta = { version: 1, _created_at: time, _updated_at: time }
        return service.db
          .collection<{ _id: string }>(name)
          .insertOne({ ...document, ...meta } as { _id: string })
      }
      const insertTopic = async (topicId: string, both: [string, string]) => {
        const _rperm = [`role:network-${both.toSorted().join('-')}`]
        const topic = {
          about: 'network',
          aboutId: both.toSorted().join('-'),
          title: 'x',
          _rperm,
          _wperm: both,
        }
        await insert('ChatTopic', { _id: topicId, ...topic })
        await insert('ChatMessage', { _id: `m${topicId}`, topicId, text: 'x', createdBy: both[0], _rperm })
      }
      await insertTopic('bothDeleted', ['deletedOne', 'deletedTwo'])
      await insertTopic('oneDeleted', [one.mvUid, 'deletedOne'])
      await insertTopic('noneDeleted', [one.mvUid, two.mvUid])
      const left = async () => {
        const topics = await countIn('ChatTopic', { _id: { $in: ['bothDeleted', 'oneDeleted'] } })
        const messages = await countIn('ChatMessage', { topicId: { $in: ['bothDeleted', 'oneDeleted'] } })
        return topics + messages + (await countIn('auth.deleted_accounts', { _id: /^deleted/ }))
      }
      neighbour = await startSecondInstance({})
      await waitUntil(async () => (await left()) === 0)
      const named = { 'before._rperm': { $in: ['deletedOne', 'deletedTwo'] } }
      await waitUntil(async () => (await countIn('history.changes', named)) === 0)
      assert.equal(await countIn('ChatMessage', { topicId: 'noneDeleted' }), 1)
    })

    /** Deletes an account, and writes for it at another instance. Says whether that instance still knew the session. */
    const writeAfterDeletion = async (url: string) => {
      const [leaver, other] = await Promise.all([createPerson(), createPerson()])
      const { mvUid, authToken } = leaver
      const headers = { authorization: `Bearer ${authToken}`, 'content-type': 'application/json' }
      const callNeighbour = async (method: string, path: string, body?: object) => {
        const content = body && { body: JSON.stringify(body) }
        return (await fetch(url + path, { method, headers, ...content })).status
      }
      const profile = `/profile/${mvUid}`
      assert.equal(await callNeighbour('GET', profile), 200)
      await deleteAccount(leaver).expect(200)
      const statuses = await Promise.all([
        callNeighbour('PUT', profile, { name: { displayName: 'Ann' } }),
        callNeighbour('POST', `${profile}/contact`, { type: 'SKYPE', value: 'ann.jansen', primary: false }),
        callNeighbour('POST', `${profile}/network`, { mvUid: other.mvUid }),
        callNeighbour('POST', `${profile}/helper`, { mvUid: other.mvUid, ...termsOf(['READ']) }),
      ])
      return { mvUid, other, isStored: statuses.includes(201) }
    }

    it('finds nothing later that another instance stored while it still knew the session', async () => {
      neighbour ??= await startSecondInstance({})
      let trial = await writeAfterDeletion(neighbour.url)
      // A busy machine may send the writes when the session is forgotten.
      for (let attempt = 1; attempt < 10 && !trial.isStored; attempt++)
        trial = await writeAfterDeletion(neighbour.url)
      assert.ok(trial.isStored, 'no write reached the other instance in time')
      const { mvUid, other } = trial

      const session = { _p_user: `_User$${mvUid}`, _session_token: `r:${mvUid}`, expiresAt: new Date(9e12) }
      await service.db.collection('_Session').insertOne(session)
      const deletedAccounts = service.db.collection<{ _id: string }>('auth.deleted_accounts')
      await deletedAccounts.updateOne({ _id: mvUid }, { $set: { deletedAt: new Date(0) } })
      await waitUntil(async () => (await deletedAccounts.countDocuments({ _id: mvUid })) === 0)
      const ofLeaver = { $gte: mvUid, $lt: `${mvUid}0` }
      for (const collection of ['persons', 'contacts', 'connections', 'ledger'])
        assert.equal(await countIn(`profile.${collection}`, { _id: ofLeaver }), 0, collection)
      assert.equal(await countIn('auth.helpers', { mvUid }), 0)
      assert.equal(await countIn('_Session', { _p_user: session._p_user }), 0)
      for (const list of ['network', 'helping'])
        assert.deepEqual(
          assertStatus(await other.call('GET', `/profile/${other.mvUid}/${list}`)).items,
          [],
          list,
        )
    })
  })
})

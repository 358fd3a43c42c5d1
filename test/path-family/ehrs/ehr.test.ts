import assert from 'node:assert/strict'
import { ReadMarks } from '../../../records/chat/read-marks.ts'
import { deletedEhrsOf, purgeDeletedEhrs } from '../../../records/ehrs/deletion/deleted-ehrs.ts'
import { containedCollections } from '../../../records/kinds.ts'
import {
  addParticipant,
  createGoal,
  createPatient,
  createPlan,
  createTask,
  type Patient,
  readAudit,
} from '../../harness/care/patients.ts'
import { assertProblem, assertStatus } from '../../harness/clients/path-client.ts'
import { createAdmin, createPerson, type Person } from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'

describe('EHRs', () => {
  let patient: Patient
  let stranger: Person
  let admin: Person
  before(async () => {
    ;[patient, stranger, admin] = await Promise.all([createPatient(), createPerson(), createAdmin()])
  })

  const idsOf = async (person: Person, path = '/ehr'): Promise<string[]> =>
    assertStatus(await person.call('GET', path)).items.map(({ id }: { id: string }) => id)

  it('are created with an account, and listed under both prefixes', async () => {
    const { items } = assertStatus(await patient.call('GET', '/ehr/'))
    assert.deepEqual([items[0].id, items[0].subjectId, items[0].version], [patient.ehrId, patient.mvUid, 1])
    assert.deepEqual(await idsOf(patient, '/med/ehr'), [patient.ehrId])
    assert.ok(!(await idsOf(stranger)).includes(patient.ehrId))
  })

  it('are listed with the account EHR first, for any page size', async () => {
    const person = await createPatient()
    const otherIds: string[] = []
    for (const body of [{}, { subjectId: 'patient 40' }, {}])
      otherIds.unshift(assertStatus(await person.call('POST', '/ehr', body), 201).id)
    await addParticipant(await createPlan(patient), person, 'read')
    const allIds = [person.ehrId, ...otherIds, patient.ehrId]
    for (const limit of [1, 2, 3, 5, 1000])
      for (const path of ['/ehr', '/med/ehr']) {
        const ids: string[] = []
        let cursor: string | null = ''
        while (cursor !== null) {
          const more: string = cursor && `&cursor=${encodeURIComponent(cursor)}`
          const { items, page } = assertStatus(
            await person.call('GET', `${path}?limit=${limit}&count=true${more}`),
          )
          assert.equal(page.total, allIds.length)
          assert.ok(items.length > 0 && items.length <= limit)
          ids.push(...items.map(({ id }: { id: string }) => id))
          cursor = page.next
        }
        assert.deepEqual(ids, allIds, `${limit}`)
      }
    assertStatus(await person.call('DELETE', `/med/ehr/${person.ehrId}`), 204)
    assert.deepEqual(await idsOf(person), allIds.slice(1))
  })

  it('are created about the caller, or about an external person for the creator to write', async () => {
    const ownEhr = await stranger.call('POST', '/ehr', {})
    assert.equal(assertStatus(ownEhr, 201).subjectId, stranger.mvUid)
    assert.equal(ownEhr.etag, '"1"')
    assert.equal(ownEhr.headers.get('location'), null, 'no GET shows an EHR')
    const other = assertStatus(await stranger.call('POST', '/med/ehr', { subjectId: 'patient 12' }), 201)
    assert.ok((await idsOf(stranger)).includes(other.id))
    assertStatus(await stranger.call('POST', `/ehr/${other.id}/careplan`, { name: 'x' }), 201)
    const theirs = assertStatus(await stranger.call('POST', '/ehr', { subjectId: patient.mvUid }), 201)
    assertStatus(await patient.call('POST', `/ehr/${theirs.id}/accept`))
    assert.ok((await idsOf(patient)).includes(theirs.id))
    assertStatus(await patient.call('POST', `/ehr/${theirs.id}/careplan`, { name: 'x' }), 201)
    assertProblem(await stranger.call('POST', '/ehr', { subjectId: '' }), 400, 'invalid-input')
    assertProblem(await stranger.call('POST', '/ehr', { subjectId: 5, x: 1 }), 400, 'invalid-input')
    assertStatus(await patient.call('DELETE', `/med/ehr/${theirs.id}`), 204)
  })

  it('are created once for an Idempotency-Key, which can be used again after a day', async () => {
    const person = await createPatient()
    const key = { 'idempotency-key': crypto.randomUUID() }
    const first = await person.call('POST', '/ehr', {}, key)
    const second = await person.call('POST', '/ehr', {}, key)
    assert.equal(assertStatus(first, 201).id, assertStatus(second, 201).id)
    assert.equal((await idsOf(person)).length, 2)
    const keys = service.db.collection('idempotency_keys')
    await keys.updateMany({}, { $set: { expiresAt: new Date(Date.now() - 1) } })
    const later = assertStatus(await person.call('POST', '/ehr', { subjectId: 'another' }, key), 201)
    assert.ok((await idsOf(person)).includes(later.id))
  })

  it('are listed for the participants of a care plan', async () => {
    const nurse = await createPerson()
    await addParticipant(await createPlan(patient), nurse, 'read')
    assert.ok((await idsOf(nurse)).includes(patient.ehrId))
    assertProblem(await nurse.call('DELETE', `/med/ehr/${patient.ehrId}`), 403, 'forbidden')
    assertProblem(await nurse.call('POST', `/ehr/${patient.ehrId}/careplan`, { name: 'x' }), 403, 'forbidden')
  })

  describe('when deleted', () => {
    const filled = async () => {
      const owner = await createPatient()
      const planId = await createPlan(owner)
      const goalId = await createGoal(owner, planId)
      await createTask(owner, planId, goalId)
      return { owner, planId, goalId, path: `/ehr/${owner.ehrId}/careplan/${planId}` }
    }

    it('disappear for everyone at once, in both families, and an administrator restores them', async () => {
      const { owner, planId, goalId, path } = await filled()
      const nurse = await createPerson()
      await addParticipant(planId, nurse, 'write')
      const before = assertStatus(await nurse.call('GET', path))
      const gone = `careplan/${await createPlan(owner)}`
      assertStatus(await owner.call('DELETE', gone), 204)
      assertStatus(await owner.call('GET', `${gone}/history`))
      assertStatus(await owner.call('DELETE', `/med/ehr/${owner.ehrId}`), 204)
      assertProblem(await owner.call('GET', `${gone}/history`), 404, 'not-found')
      for (const person of [owner, nurse, stranger, admin]) {
        assertProblem(await person.call('GET', path), 404, 'not-found')
        assertProblem(await person.call('GET', `/ehr/${owner.ehrId}/careplan`), 404, 'not-found')
        assertProblem(await person.call('POST', `${path}/goal`, { name: 'x' }), 404, 'not-found')
        assertProblem(await person.call('PUT', `${path}/goal/${goalId}`, { name: 'x' }), 404, 'not-found')
        assert.ok(!(await idsOf(person)).includes(owner.ehrId))
      }
      assertProblem(await owner.call('DELETE', `/med/ehr/${owner.ehrId}`), 404, 'not-found')
      assertProblem(await owner.call('POST', `/med/ehr/${owner.ehrId}/restore`), 403, 'forbidden')
      const restored = await admin.call('POST', `/med/ehr/${owner.ehrId}/restore`)
      assert.equal(assertStatus(restored).version, 3)
      assert.deepEqual(assertStatus(await nurse.call('GET', path)), before)
      assertStatus(await nurse.call('POST', `${path}/goal`, { name: 'x' }), 201)
      assert.deepEqual(await idsOf(owner), [owner.ehrId])
      assertProblem(await admin.call('POST', `/med/ehr/${owner.ehrId}/restore`), 404, 'not-found')
      assertProblem(await admin.call('GET', path), 404, 'not-found')
      const audit = await readAudit(owner.ehrId)
      assert.ok(audit.includes('delete Ehr done') && audit.includes('create Ehr done'))
    })

    it('require their subject or an administrator, and a matching If-Match if there is one', async () => {
      const { owner } = await filled()
      const path = `/med/ehr/${owner.ehrId}`
      assertProblem(await stranger.call('DELETE', path), 404, 'not-found')
      assertProblem(
        await owner.call('DELETE', path, undefined, { 'if-match': '"7"' }),
        412,
        'precondition-failed',
      )
      assertStatus(await admin.call('DELETE', path, undefined, { 'if-match': '"1"' }), 204)
      const standalone = assertStatus(await stranger.call('POST', '/ehr', { subjectId: 'patient 13' }), 201)
      assertStatus(await stranger.call('DELETE', `/med/ehr/${standalone.id}`), 204)
    })

    it('are erased after 30 days with all their records; the audit stays', async () => {
      const { owner, planId } = await filled()
      const { ehrId } = owner
      assertStatus(await owner.call('PUT', `careplan/${planId}`, { name: 'Other' }))
      const event = { type: 'visit', title: 'Visit', start: '2026-03-01T08:30:00Z' }
      const gone = assertStatus(await owner.call('POST', `/med/${ehrId}/event`, event), 201).id
      assertStatus(await owner.call('DELETE', `/med/${ehrId}/event/${gone}`), 204)
      const topic = { title: 'Tablets', text: 'Which?' }
      const topicId = assertStatus(await owner.call('POST', `/chat/careplan/${planId}`, topic), 201).id
      assertStatus(await owner.call('POST', `/chat/careplan/${planId}/${topicId}/read`, {}), 204)
      // More than one step erases.
      const hidden = { ehrId, _rperm: [ehrId], _wperm: [ehrId] }
      const many = Array.from({ length: 1100 }, (_, i) => ({ _id: `${ehrId}${i}` as never, ...hidden }))
      await service.db.collection('Event').insertMany(many)
      assertStatus(await owner.call('DELETE', `/med/ehr/${ehrId}`), 204)
      const time = new Date(Date.now() - 30 * 86_400_000 - 1000)
      await deletedEhrsOf(service).updateOne({ _id: ehrId }, { $set: { at: time } })
      assertProblem(await admin.call('POST', `/med/ehr/${ehrId}/restore`), 404, 'not-found')
      const countIn = async (collection: string, filter: object) =>
        service.db.collection(collection).countDocuments(filter)
      const ofHistory = { _id: { $regex: `^${ehrId}/` } }
      const audited = (await readAudit(ehrId)).length
      assert.equal(await countIn('history.changes', ofHistory), 10)
      const purge = (now: Date) =>
        purgeDeletedEhrs({ ...service, contents: containedCollections }, now, (id) =>
          new ReadMarks(service).deleteOfEhr(id),
        )
      await purge(new Date())
      assert.equal(await countIn('CarePlan', { ehrId }), 1, 'a day too early')

      await purge(new Date(Date.now() + 86_400_000))
      for (const name of ['Ehr', 'CarePlan', 'Goal', 'Task', 'Event'])
        assert.equal(await countIn(name, name === 'Ehr' ? { _id: ehrId } : { ehrId }), 0)
      assert.equal(await countIn('history.changes', ofHistory), 0)
      assert.equal(await countIn('_Role', { name: { $regex: `${ehrId}|${planId}` } }), 0)
      assert.equal(await countIn('ehr.removed', { _id: ehrId }), 0)
      assert.equal(await countIn('ehr.turns', { _id: ehrId }), 0)
      assert.equal(await countIn('chat.read', { topicId }), 0)
      assert.equal((await readAudit(ehrId)).length, audited)
    })
  })
})

import assert from 'node:assert/strict'
import { removedEhrs, sweepRemovedEhrs } from '../../../records/ehrs/removal/removed.ts'
import { contents } from '../../../records/kinds.ts'
import {
  auditOf,
  letIn,
  newGoal,
  newPatient,
  newPlan,
  newTask,
  type Patient,
} from '../../harness/care/patients.ts'
import { ok, refused } from '../../harness/clients/path-client.ts'
import { newAdmin, newPerson, type Person } from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'

describe('EHRs', () => {
  let patient: Patient
  let stranger: Person
  let admin: Person
  before(async () => {
    ;[patient, stranger, admin] = await Promise.all([newPatient(), newPerson(), newAdmin()])
  })

  const idsOf = async (person: Person, path = '/ehr'): Promise<string[]> =>
    ok(await person.call('GET', path)).items.map(({ id }: { id: string }) => id)

  it('come with an account, and are listed below both prefixes', async () => {
    const { items } = ok(await patient.call('GET', '/ehr/'))
    assert.deepEqual([items[0].id, items[0].subjectId, items[0].version], [patient.ehrId, patient.mvUid, 1])
    assert.deepEqual(await idsOf(patient, '/med/ehr'), [patient.ehrId])
    assert.ok(!(await idsOf(stranger)).includes(patient.ehrId))
  })

  it('are listed with the one that came with the account first, whatever a page holds', async () => {
    const person = await newPatient()
    const others: string[] = []
    for (const body of [{}, { subjectId: 'patient 40' }, {}])
      others.unshift(ok(await person.call('POST', '/ehr', body), 201).id)
    await letIn(await newPlan(patient), person, 'read')
    const all = [person.ehrId, ...others, patient.ehrId]
    for (const limit of [1, 2, 3, 5, 1000])
      for (const path of ['/ehr', '/med/ehr']) {
        const seen: string[] = []
        let cursor: string | null = ''
        while (cursor !== null) {
          const more: string = cursor && `&cursor=${encodeURIComponent(cursor)}`
          const { items, page } = ok(await person.call('GET', `${path}?limit=${limit}&count=true${more}`))
          assert.equal(page.total, all.length)
          assert.ok(items.length > 0 && items.length <= limit)
          seen.push(...items.map(({ id }: { id: string }) => id))
          cursor = page.next
        }
        assert.deepEqual(seen, all, `${limit}`)
      }
    ok(await person.call('DELETE', `/med/ehr/${person.ehrId}`), 204)
    assert.deepEqual(await idsOf(person), all.slice(1))
  })

  it('are made about the caller, or about somebody else, whose creator writes them', async () => {
    const own = await stranger.call('POST', '/ehr', {})
    assert.equal(ok(own, 201).subjectId, stranger.mvUid)
    assert.equal(own.etag, '"1"')
    assert.equal(own.headers.get('location'), `/med/ehr/${own.body.id}`)
    const other = ok(await stranger.call('POST', '/med/ehr', { subjectId: 'patient 12' }), 201)
    assert.ok((await idsOf(stranger)).includes(other.id))
    ok(await stranger.call('POST', `/ehr/${other.id}/careplan`, { name: 'x' }), 201)
    const theirs = ok(await stranger.call('POST', '/ehr', { subjectId: patient.mvUid }), 201)
    ok(await patient.call('POST', `/ehr/${theirs.id}/accept`))
    assert.ok((await idsOf(patient)).includes(theirs.id))
    ok(await patient.call('POST', `/ehr/${theirs.id}/careplan`, { name: 'x' }), 201)
    refused(await stranger.call('POST', '/ehr', { subjectId: '' }), 400, 'invalid-input')
    refused(await stranger.call('POST', '/ehr', { subjectId: 5, x: 1 }), 400, 'invalid-input')
    ok(await patient.call('DELETE', `/med/ehr/${theirs.id}`), 204)
  })

  it('are made once under an Idempotency-Key', async () => {
    const person = await newPatient()
    const key = { 'idempotency-key': crypto.randomUUID() }
    const [first, second] = [
      await person.call('POST', '/ehr', {}, key),
      await person.call('POST', '/ehr', {}, key),
    ]
    assert.equal(ok(first, 201).id, ok(second, 201).id)
    assert.equal((await idsOf(person)).length, 2)
  })

  it('are listed for the participants of a care plan', async () => {
    const nurse = await newPerson()
    await letIn(await newPlan(patient), nurse, 'read')
    assert.ok((await idsOf(nurse)).includes(patient.ehrId))
    refused(await nurse.call('DELETE', `/med/ehr/${patient.ehrId}`), 403, 'forbidden')
    refused(await nurse.call('POST', `/ehr/${patient.ehrId}/careplan`, { name: 'x' }), 403, 'forbidden')
  })

  describe('deleted', () => {
    const filled = async () => {
      const owner = await newPatient()
      const planId = await newPlan(owner)
      const goalId = await newGoal(owner, planId)
      await newTask(owner, planId, goalId)
      return { owner, planId, goalId, path: `/ehr/${owner.ehrId}/careplan/${planId}` }
    }

    it('are gone for everyone at once, in both families, and an administrator brings them back', async () => {
      const { owner, planId, goalId, path } = await filled()
      const nurse = await newPerson()
      await letIn(planId, nurse, 'write')
      const before = ok(await nurse.call('GET', path))
      ok(await owner.call('DELETE', `/med/ehr/${owner.ehrId}`), 204)
      for (const person of [owner, nurse, stranger, admin]) {
        refused(await person.call('GET', path), 404, 'not-found')
        refused(await person.call('GET', `/ehr/${owner.ehrId}/careplan`), 404, 'not-found')
        refused(await person.call('POST', `${path}/goal`, { name: 'x' }), 404, 'not-found')
        refused(await person.call('PUT', `${path}/goal/${goalId}`, { name: 'x' }), 404, 'not-found')
        assert.ok(!(await idsOf(person)).includes(owner.ehrId))
      }
      refused(await owner.call('DELETE', `/med/ehr/${owner.ehrId}`), 404, 'not-found')
      refused(await owner.call('POST', `/med/ehr/${owner.ehrId}/restore`), 403, 'forbidden')
      const restored = await admin.call('POST', `/med/ehr/${owner.ehrId}/restore`)
      assert.equal(ok(restored).version, 3)
      assert.deepEqual(ok(await nurse.call('GET', path)), before)
      ok(await nurse.call('POST', `${path}/goal`, { name: 'x' }), 201)
      assert.deepEqual(await idsOf(owner), [owner.ehrId])
      refused(await admin.call('POST', `/med/ehr/${owner.ehrId}/restore`), 404, 'not-found')
      refused(await admin.call('GET', path), 404, 'not-found')
      const audit = await auditOf(owner.ehrId)
      assert.ok(audit.includes('delete Ehr done') && audit.includes('create Ehr done'))
    })

    it('stay there when a sweep meets the one who brings them back', async () => {
      const { owner, path } = await filled()
      ok(await owner.call('DELETE', `/med/ehr/${owner.ehrId}`), 204)
      const { client, db } = service
      /** What the sweep read of the EHRs that were removed is out of date when it goes on. */
      async function* find(filter: object) {
        const ours = { ...filter, _id: owner.ehrId as never }
        for await (const one of db.collection('ehr.removed').find(ours)) {
          ok(await admin.call('POST', `/med/ehr/${owner.ehrId}/restore`))
          yield one
        }
      }
      const first = [{ find }]
      const collection = (name: string) =>
        (name === 'ehr.removed' && first.pop()) || service.db.collection(name)
      await sweepRemovedEhrs({ client, contents, db: { collection } as unknown as typeof db }, new Date())
      ok(await owner.call('GET', path))
    })

    it('are deleted by their subject or an administrator, at the version that they name', async () => {
      const { owner } = await filled()
      const path = `/med/ehr/${owner.ehrId}`
      refused(await stranger.call('DELETE', path), 404, 'not-found')
      refused(await owner.call('DELETE', path, undefined, { 'if-match': '"7"' }), 412, 'precondition-failed')
      ok(await admin.call('DELETE', path, undefined, { 'if-match': '"1"' }), 204)
      const standalone = ok(await stranger.call('POST', '/ehr', { subjectId: 'patient 13' }), 201)
      ok(await stranger.call('DELETE', `/med/ehr/${standalone.id}`), 204)
    })

    it('are removed for good after 30 days, with all that hangs on them; the audit stays', async () => {
      const { owner, planId } = await filled()
      const { ehrId } = owner
      ok(await owner.call('PUT', `careplan/${planId}`, { name: 'Other' }))
      const event = { type: 'visit', title: 'Visit', start: '2026-03-01T08:30:00Z' }
      const gone = ok(await owner.call('POST', `/med/${ehrId}/event`, event), 201).id
      ok(await owner.call('DELETE', `/med/${ehrId}/event/${gone}`), 204)
      // More than are removed in one step.
      const hidden = { ehrId, _rperm: [ehrId], _wperm: [ehrId] }
      const many = Array.from({ length: 1100 }, (_, i) => ({ _id: `${ehrId}${i}` as never, ...hidden }))
      await service.db.collection('Event').insertMany(many)
      ok(await owner.call('DELETE', `/med/ehr/${ehrId}`), 204)
      const at = new Date(Date.now() - 30 * 86_400_000 - 1000)
      await removedEhrs(service).updateOne({ _id: ehrId }, { $set: { at } })
      refused(await admin.call('POST', `/med/ehr/${ehrId}/restore`), 404, 'not-found')
      const held = async (collection: string, filter: object) =>
        service.db.collection(collection).countDocuments(filter)
      const ofHistory = { _id: { $regex: `^${ehrId}/` } }
      const audited = (await auditOf(ehrId)).length
      assert.equal(await held('history.changes', ofHistory), 8)
      await sweepRemovedEhrs({ ...service, contents }, new Date())
      assert.equal(await held('CarePlan', { ehrId }), 1, 'a day too early')

      await sweepRemovedEhrs({ ...service, contents }, new Date(Date.now() + 86_400_000))
      for (const name of ['Ehr', 'CarePlan', 'Goal', 'Task', 'Event'])
        assert.equal(await held(name, name === 'Ehr' ? { _id: ehrId } : { ehrId }), 0)
      assert.equal(await held('history.changes', ofHistory), 0)
      assert.equal(await held('_Role', { name: { $regex: `${ehrId}|${planId}` } }), 0)
      assert.equal(await held('ehr.removed', { _id: ehrId }), 0)
      assert.equal(await held('ehr.turns', { _id: ehrId }), 0)
      assert.equal((await auditOf(ehrId)).length, audited)
    })
  })
})

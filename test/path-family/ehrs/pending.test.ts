import assert from 'node:assert/strict'
import { agreementsOf, sweepAgreements } from '../../../records/ehrs/agreement.ts'
import { contents } from '../../../records/kinds.ts'
import {
  auditOf,
  newEhrAbout,
  newGoal,
  newPatient,
  newPlan,
  newTask,
  type Patient,
} from '../../harness/care/patients.ts'
import { classesOf } from '../../harness/clients/class-client.ts'
import { ok, refused } from '../../harness/clients/path-client.ts'
import { mailAbout } from '../../harness/people/mail.ts'
import { newAdmin, newPerson, type Person } from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'

interface Listed {
  id: string
}

describe('an EHR for another user', () => {
  let patient: Patient
  let doctor: Patient
  before(async () => {
    ;[patient, doctor] = await Promise.all([newPatient(), newPatient()])
  })

  const idsOf = async (person: Person, path = '/ehr'): Promise<string[]> =>
    ok(await person.call('GET', path)).items.map(({ id }: Listed) => id)

  /** Made by the doctor, who has begun to work in it. */
  async function filled() {
    const begun = await newEhrAbout(patient, doctor)
    const { ehrId, call } = begun
    const planId = await newPlan(begun)
    const goalId = await newGoal(begun, planId)
    const taskId = await newTask(begun, planId, goalId)
    ok(await call('PUT', `careplan/${planId}`, { name: 'Second' }))
    const event = { type: 'visit', title: 'Visit', start: '2026-03-01T08:30:00Z' }
    const eventId = ok(await call('POST', `/med/${ehrId}/event`, event), 201).id
    ok(await call('POST', `/med/${ehrId}/careplan/${planId}/settings`, { colour: 'blue' }))
    return { ehrId, planId, goalId, taskId, eventId }
  }

  it('waits for that user, and is its creator’s until then', async () => {
    const { ehrId } = await filled()
    const listed = ok(await doctor.call('GET', '/ehr')).items.find(({ id }: Listed) => id === ehrId)
    const { pending, creatorId, subjectId } = listed
    assert.deepEqual([pending, creatorId, subjectId], [true, doctor.mvUid, patient.mvUid])
    assert.ok((await idsOf(patient, '/ehr/pending')).includes(ehrId))
    assert.ok(!(await idsOf(patient)).includes(ehrId))
    assert.deepEqual(await idsOf(doctor, '/ehr/pending'), [])
    ok(await doctor.call('GET', `/ehr/${ehrId}/audit`))
    const object = (await classesOf(doctor).get('Ehr', ehrId).expect(200)).body
    assert.deepEqual([object.pending, object.creatorId], [true, doctor.mvUid])
  })

  it('is told to that user by mail, in their language, and neither who made it nor which it is', async () => {
    const [dutch, creator] = [await newPerson({ language: 'nl' }), await newPerson()]
    const { ehrId } = await newEhrAbout(dutch, creator)
    const { text = '' } = await mailAbout(dutch.email, /gezondheidsdossier over u/)
    for (const secret of [ehrId, dutch.mvUid, creator.mvUid, creator.email]) assert.ok(!text.includes(secret))
    const { body } = await classesOf(creator).post('Ehr', { subjectId: patient.mvUid }).expect(201)
    assert.ok(body.objectId)
    await mailAbout(patient.email, /record about you/)
  })

  it('is theirs once they agree, with all that is in it, in both families, history and audit included', async () => {
    const { ehrId, planId, goalId, taskId, eventId } = await filled()
    const accepted = await patient.call('POST', `/ehr/${ehrId}/accept`)
    assert.deepEqual([ok(accepted).pending, accepted.body.version, accepted.etag], [false, 2, '"2"'])
    const plan = `/ehr/${ehrId}/careplan/${planId}`
    const task = `${plan}/goal/${goalId}/task/${taskId}`
    assert.equal(ok(await patient.call('GET', `${plan}/history`)).items.length, 2)
    ok(await patient.call('PUT', task, { name: 'Mine' }))
    ok(await patient.call('GET', `/med/${ehrId}/event/${eventId}`))
    ok(await patient.call('GET', `/med/${ehrId}/careplan/${planId}/settings`))
    const { get, put } = classesOf(patient)
    const ids = { Ehr: ehrId, CarePlan: planId, Goal: goalId, Task: taskId, Event: eventId }
    for (const [name, id] of Object.entries(ids)) {
      const { body } = await get(name, id).expect(200)
      assert.deepEqual(body.ACL[patient.mvUid], { read: true, write: true }, name)
    }
    await put('CarePlan', planId, { name: 'Ours' }).expect(200)
    const { items } = ok(await patient.call('GET', `/ehr/${ehrId}/audit?limit=1000`))
    assert.ok(
      items.some(
        ({ userId, action }: Record<string, string>) => userId === doctor.mvUid && action === 'create',
      ),
    )
    assert.ok((await auditOf(ehrId)).includes('update Ehr done'))
    assert.ok((await idsOf(patient)).includes(ehrId))
    assert.ok(!(await idsOf(patient, '/ehr/pending')).includes(ehrId))

    const later = ok(await doctor.call('POST', `/ehr/${ehrId}/careplan`, { name: 'Later' }), 201).id
    ok(await patient.call('GET', `/ehr/${ehrId}/careplan/${later}`))
    ok(
      await patient.call('POST', `${plan}/participant`, { mvUid: (await newPerson()).mvUid, access: 'READ' }),
      201,
    )
    refused(await doctor.call('GET', `/ehr/${ehrId}/audit`), 403, 'forbidden')
    refused(await doctor.call('DELETE', `/med/ehr/${ehrId}`), 403, 'forbidden')
    assert.equal(ok(await patient.call('POST', `/ehr/${ehrId}/accept`)).version, 2)
  })

  it('is gone when they do not agree, as when its creator thinks better of it', async () => {
    for (const person of [patient, doctor]) {
      const { ehrId, planId } = await filled()
      ok(await person.call('DELETE', `/med/ehr/${ehrId}`), 204)
      assert.ok(!(await idsOf(patient, '/ehr/pending')).includes(ehrId))
      refused(await patient.call('POST', `/ehr/${ehrId}/accept`), 404, 'not-found')
      refused(await doctor.call('GET', `/ehr/${ehrId}/careplan/${planId}`), 404, 'not-found')
    }
  })

  it('comes back pending when an administrator brings it back', async () => {
    const { ehrId } = await filled()
    const admin = await newAdmin()
    ok(await patient.call('DELETE', `/med/ehr/${ehrId}`), 204)
    assert.equal(ok(await admin.call('POST', `/med/ehr/${ehrId}/restore`)).pending, true)
    refused(await patient.call('GET', `/ehr/${ehrId}/careplan`), 404, 'not-found')
    ok(await patient.call('POST', `/ehr/${ehrId}/accept`))
    ok(await patient.call('GET', `/ehr/${ehrId}/careplan`))
  })

  it('is theirs at once when an administrator makes it, who has no part in it', async () => {
    const admin = await newAdmin()
    const byPath = ok(await admin.call('POST', '/ehr', { subjectId: patient.mvUid }), 201)
    const { body } = await classesOf(admin).post('Ehr', { subjectId: patient.mvUid }).expect(201)
    assert.deepEqual([byPath.pending, body.pending], [false, false])
    for (const ehrId of [byPath.id, body.objectId]) {
      ok(await patient.call('POST', `/ehr/${ehrId}/careplan`, { name: 'x' }), 201)
      refused(await admin.call('GET', `/ehr/${ehrId}/careplan`), 404, 'not-found')
      ok(await patient.call('DELETE', `/med/ehr/${ehrId}`), 204)
    }
  })

  it('lets them see also what was being written while they agreed', async () => {
    const { ehrId, planId } = await filled()
    ok(await patient.call('POST', `/ehr/${ehrId}/accept`))
    // As Parse Server leaves what it judged before.
    const late = { _rperm: [`role:ehr-${ehrId}-write`], _wperm: [`role:ehr-${ehrId}-write`], _acl: {} }
    await service.db.collection('CarePlan').updateOne({ _id: planId as never }, { $set: late })
    refused(await patient.call('GET', `/ehr/${ehrId}/careplan/${planId}`), 404, 'not-found')
    await sweepAgreements({ ...service, contents }, new Date(Date.now() + 61_000))
    ok(await patient.call('GET', `/ehr/${ehrId}/careplan/${planId}`))
    assert.equal(await agreementsOf(service).findOne({ _id: ehrId }), null)
  })
})

import assert from 'node:assert/strict'
import {
  createEhrAbout,
  createGoal,
  createPatient,
  createPlan,
  createTask,
  createWeight,
  type Patient,
  readAudit,
} from '../../harness/care/patients.ts'
import { createClassClient } from '../../harness/clients/class-client.ts'
import { assertProblem, assertStatus } from '../../harness/clients/path-client.ts'
import { waitForMailAbout } from '../../harness/mail/mail.ts'
import { createAdmin, createPerson, type Person } from '../../harness/people/people.ts'

interface Listed {
  id: string
}

describe('an EHR for another user', () => {
  let patient: Patient
  let doctor: Patient
  before(async () => {
    ;[patient, doctor] = await Promise.all([createPatient(), createPatient()])
  })

  const idsOf = async (person: Person, path = '/ehr'): Promise<string[]> =>
    assertStatus(await person.call('GET', path)).items.map(({ id }: Listed) => id)

  /** An EHR that the doctor has created and begun to fill. */
  async function filled() {
    const ehr = await createEhrAbout(patient, doctor)
    const { ehrId, call } = ehr
    const planId = await createPlan(ehr)
    const goalId = await createGoal(ehr, planId)
    const taskId = await createTask(ehr, planId, goalId)
    assertStatus(await call('PUT', `careplan/${planId}`, { name: 'Second' }))
    const event = { type: 'visit', title: 'Visit', start: '2026-03-01T08:30:00Z' }
    const eventId = assertStatus(await call('POST', `/med/${ehrId}/event`, event), 201).id
    assertStatus(await call('POST', `/med/${ehrId}/careplan/${planId}/settings`, { colour: 'blue' }))
    return { ehrId, planId, goalId, taskId, eventId }
  }

  it('is pending for that user, and belongs to its creator until then', async () => {
    const { ehrId } = await filled()
    const ehr = assertStatus(await doctor.call('GET', '/ehr')).items.find(({ id }: Listed) => id === ehrId)
    const { pending, creatorId, subjectId } = ehr
    assert.deepEqual([pending, creatorId, subjectId], [true, doctor.mvUid, patient.mvUid])
    assert.ok((await idsOf(patient, '/ehr/pending')).includes(ehrId))
    assert.ok(!(await idsOf(patient)).includes(ehrId))
    assert.deepEqual(await idsOf(doctor, '/ehr/pending'), [])
    assertStatus(await doctor.call('GET', `/ehr/${ehrId}/audit`))
    const object = (await createClassClient(doctor).get('Ehr', ehrId).expect(200)).body
    assert.deepEqual([object.pending, object.creatorId], [true, doctor.mvUid])
  })

  it('is named to that user in a mail in their language, without its creator or id', async () => {
    const dutch = await createPerson({ language: 'nl' })
    const creator = await createPerson()
    const { ehrId } = await createEhrAbout(dutch, creator)
    const { text = '' } = await waitForMailAbout(dutch.email, /gezondheidsdossier over u/)
    for (const secret of [ehrId, dutch.mvUid, creator.mvUid, creator.email]) assert.ok(!text.includes(secret))
    const { body } = await createClassClient(creator).post('Ehr', { subjectId: patient.mvUid }).expect(201)
    assert.ok(body.objectId)
    await waitForMailAbout(patient.email, /record about you/)
  })

  it('shows the user after agreement what its creator deleted before', async () => {
    const ehr = await createEhrAbout(patient, doctor)
    const { ehrId } = ehr
    const planId = await createPlan(ehr)
    const weightId = await createWeight(ehr, await createPlan(ehr), 113)
    const weight = `/ehr/${ehrId}/procedure/bodyweight/${weightId}`
    for (const path of [weight, `/ehr/${ehrId}/careplan/${planId}`])
      assertStatus(await doctor.call('DELETE', path), 204)
    assertStatus(await patient.call('POST', `/ehr/${ehrId}/accept`))
    const deletions = assertStatus(await patient.call('GET', `/ehr/${ehrId}/deleted`)).items
    assert.deepEqual(
      deletions.map(({ type }: { type: string }) => type),
      ['CarePlan', 'BodyWeight'],
    )
    for (const path of [weight, `/ehr/${ehrId}/careplan/${planId}`])
      assertStatus(await patient.call('GET', `${path}/history`))
    assertStatus(await patient.call('POST', `${weight}/restore`, { version: 1 }))
    assertStatus(await patient.call('GET', weight))
    assertStatus(await doctor.call('GET', weight))
  })

  it('keeps the contents of a deleted plan and goal hidden after agreement, and returns them to the user', async () => {
    const { ehrId, planId, goalId, taskId } = await filled()
    const plan = `/ehr/${ehrId}/careplan/${planId}`
    const { delete: remove, list } = createClassClient(doctor)
    await remove('Goal', goalId).expect(200)
    assertStatus(await doctor.call('DELETE', plan), 204)
    assertStatus(await patient.call('POST', `/ehr/${ehrId}/accept`))
    const settings = `/med/${ehrId}/careplan/${planId}/settings`
    const assertTasks = async (...expected: string[]) => {
      for (const find of [list, createClassClient(patient).list]) {
        const { results } = (await find('Task', { ehrId }).expect(200)).body
        assert.deepEqual(
          results.map(({ objectId }: { objectId: string }) => objectId),
          expected,
        )
      }
      assert.deepEqual(await idsOf(patient, `/ehr/${ehrId}/careplan/todo`), expected)
    }
    await assertTasks()
    assertStatus(await patient.call('POST', `${plan}/restore`, { version: 2 }))
    assertStatus(await patient.call('GET', settings))
    await assertTasks()
    assertStatus(await patient.call('POST', `${plan}/goal/${goalId}/restore`, { version: 1 }))
    await assertTasks(taskId)
    assertStatus(await patient.call('PUT', `${plan}/goal/${goalId}/task/${taskId}`, { name: 'Mine' }))
    assert.equal(assertStatus(await patient.call('POST', settings, { colour: 'red' })).colour, 'red')
  })

  it('belongs to the user after agreement, with all records, history and audit, in both families', async () => {
    const { ehrId, planId, goalId, taskId, eventId } = await filled()
    const accepted = await patient.call('POST', `/ehr/${ehrId}/accept`)
    assert.deepEqual(
      [assertStatus(accepted).pending, accepted.body.version, accepted.etag],
      [false, 2, '"2"'],
    )
    const plan = `/ehr/${ehrId}/careplan/${planId}`
    const task = `${plan}/goal/${goalId}/task/${taskId}`
    assert.equal(assertStatus(await patient.call('GET', `${plan}/history`)).items.length, 2)
    assertStatus(await patient.call('PUT', task, { name: 'Mine' }))
    assertStatus(await patient.call('GET', `/med/${ehrId}/event/${eventId}`))
    assertStatus(await patient.call('GET', `/med/${ehrId}/careplan/${planId}/settings`))
    const { get, put } = createClassClient(patient)
    const ids = { Ehr: ehrId, CarePlan: planId, Goal: goalId, Task: taskId, Event: eventId }
    for (const [name, id] of Object.entries(ids)) {
      const { body } = await get(name, id).expect(200)
      assert.deepEqual(body.ACL[patient.mvUid], { read: true, write: true }, name)
    }
    await put('CarePlan', planId, { name: 'Ours' }).expect(200)
    const { items } = assertStatus(await patient.call('GET', `/ehr/${ehrId}/audit?limit=1000`))
    assert.ok(
      items.some(
        ({ userId, action }: Record<string, string>) => userId === doctor.mvUid && action === 'create',
      ),
    )
    assert.ok((await readAudit(ehrId)).includes('update Ehr done'))
    assert.ok((await idsOf(patient)).includes(ehrId))
    assert.ok(!(await idsOf(patient, '/ehr/pending')).includes(ehrId))

    const later = assertStatus(await doctor.call('POST', `/ehr/${ehrId}/careplan`, { name: 'Later' }), 201).id
    assertStatus(await patient.call('GET', `/ehr/${ehrId}/careplan/${later}`))
    assertStatus(
      await patient.call('POST', `${plan}/participant`, {
        mvUid: (await createPerson()).mvUid,
        access: 'READ',
      }),
      201,
    )
    assertProblem(await doctor.call('GET', `/ehr/${ehrId}/audit`), 403, 'forbidden')
    assertProblem(await doctor.call('DELETE', `/med/ehr/${ehrId}`), 403, 'forbidden')
    assert.equal(assertStatus(await patient.call('POST', `/ehr/${ehrId}/accept`)).version, 2)
  })

  it('is deleted if the user declines, or if its creator withdraws it', async () => {
    for (const person of [patient, doctor]) {
      const { ehrId, planId } = await filled()
      assertStatus(await person.call('DELETE', `/med/ehr/${ehrId}`), 204)
      assert.ok(!(await idsOf(patient, '/ehr/pending')).includes(ehrId))
      assertProblem(await patient.call('POST', `/ehr/${ehrId}/accept`), 404, 'not-found')
      assertProblem(await doctor.call('GET', `/ehr/${ehrId}/careplan/${planId}`), 404, 'not-found')
    }
  })

  it('returns as pending if an administrator restores it', async () => {
    const { ehrId } = await filled()
    const admin = await createAdmin()
    assertStatus(await patient.call('DELETE', `/med/ehr/${ehrId}`), 204)
    assert.equal(assertStatus(await admin.call('POST', `/med/ehr/${ehrId}/restore`)).pending, true)
    assertProblem(await patient.call('GET', `/ehr/${ehrId}/careplan`), 404, 'not-found')
    assertStatus(await patient.call('POST', `/ehr/${ehrId}/accept`))
    assertStatus(await patient.call('GET', `/ehr/${ehrId}/careplan`))
  })

  it('belongs to the user at once if an administrator creates it, who gets no access', async () => {
    const admin = await createAdmin()
    const byPath = assertStatus(await admin.call('POST', '/ehr', { subjectId: patient.mvUid }), 201)
    const { body } = await createClassClient(admin).post('Ehr', { subjectId: patient.mvUid }).expect(201)
    assert.deepEqual([byPath.pending, body.pending], [false, false])
    for (const ehrId of [byPath.id, body.objectId]) {
      assertStatus(await patient.call('POST', `/ehr/${ehrId}/careplan`, { name: 'x' }), 201)
      assertProblem(await admin.call('GET', `/ehr/${ehrId}/careplan`), 404, 'not-found')
      assertStatus(await patient.call('DELETE', `/med/ehr/${ehrId}`), 204)
    }
  })
})

import assert from 'node:assert/strict'
import type { Document } from 'mongodb'
import { deletedEhrsOf, purgeDeletedEhrs } from '../../../records/ehrs/deletion/deleted-ehrs.ts'
import {
  type ClassName,
  classKindOf,
  containedCollections,
  deletableKinds,
  isClassName,
} from '../../../records/kinds.ts'
import { isMeasurementKind } from '../../../records/measurements/measurement.ts'
import type { DeletedRecordResource } from '../../../schemas/ehrs/deleted-record.ts'
import { DAY_MS } from '../../../schemas/time/durations.ts'
import { byClass, newPlace, type Place } from '../../family-kinds.ts'
import {
  addParticipant,
  createPatient,
  createPlan,
  createTask,
  createWeight,
  type Patient,
} from '../../harness/care/patients.ts'
import { exampleObject, parentIdsOf, withOtherKey } from '../../harness/care/samples/examples.ts'
import { SAMPLED_KINDS } from '../../harness/care/samples/kinds-of-each-shape.ts'
import { assertProblem, assertStatus } from '../../harness/clients/path-client.ts'
import { createPressureComposition, getStoredTemplate } from '../../harness/openehr-samples.ts'
import { actFor, createHelper } from '../../harness/people/helper-invitations.ts'
import { createAdmin, createPerson, type Person } from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'

async function deletedIn({ ehrId }: { ehrId: string }, by: Pick<Person, 'call'>, query = '') {
  const list = assertStatus(await by.call('GET', `/ehr/${ehrId}/deleted?${query}`))
  return list as { items: DeletedRecordResource[]; page: { next: string | null } }
}

async function pagesOf(patient: Patient, query = ''): Promise<DeletedRecordResource[][]> {
  const pages: DeletedRecordResource[][] = []
  let next: string | null = null
  do {
    const { items, page } = await deletedIn(patient, patient, next ? `${query}&cursor=${next}` : query)
    pages.push(items)
    next = page.next
  } while (next !== null)
  return pages
}

const contentsIn = async (...parameters: Parameters<typeof deletedIn>) =>
  (await deletedIn(...parameters)).items.map(({ content }) => content)

/** Deletes a record of a kind. @returns its id */
async function deleteOne(type: string, patient: Patient, place: Place): Promise<string> {
  if (!isClassName(type)) {
    const path = `/med/ehr/${patient.ehrId}/composition`
    const composition = createPressureComposition(await getStoredTemplate(), 120)
    const { compositionId } = assertStatus(await patient.call('POST', `${path}/json`, composition), 201)
    assertStatus(await patient.call('DELETE', `${path}/${compositionId}`), 204)
    return compositionId
  }
  const { post, delete: remove } = byClass(patient)
  const idsByType: Partial<Record<ClassName, string>> = { CarePlan: place.carePlanId, Goal: place.goalId }
  if (type === 'Task') idsByType.Task = await createTask(patient, place.carePlanId, place.goalId)
  const object = withOtherKey(type, { ...parentIdsOf(type, place), ...exampleObject(type) })
  const id = idsByType[type] ?? (await post(type, object).expect(201)).body.objectId
  await remove(type, id).expect(200)
  return id
}

async function deleteDiagnosis(patient: Patient, name: string): Promise<string> {
  const { id } = assertStatus(await patient.call('POST', 'diagnosis', { name }), 201)
  assertStatus(await patient.call('DELETE', `diagnosis/${id}`), 204)
  return id
}

const restorationOf = ({ history }: DeletedRecordResource) => history.replace(/history$/, 'restore')

async function restore(patient: Patient, deleted: DeletedRecordResource | undefined): Promise<void> {
  assert.ok(deleted)
  const { version } = deleted
  assertStatus(await patient.call('POST', restorationOf(deleted), { version }))
}

const setDisplayName = async (who: Person, displayName: string) =>
  assertStatus(await who.call('PUT', `/profile/${who.mvUid}`, { name: { displayName } }))

describe('the deleted records of an EHR', () => {
  for (const type of deletableKinds.keys())
    if (!isClassName(type) || SAMPLED_KINDS.includes(type))
      it(`contain a ${type} with its history, until it is restored`, async () => {
        const { patient, place } = await newPlace()
        await setDisplayName(patient, 'Ann Jansen')
        const id = await deleteOne(type, patient, place)
        const [deleted, ...others] = (await deletedIn(patient, patient)).items
        assert.ok(deleted)
        assert.deepEqual(others, [])
        const { deletedAt, history, content, values, ...rest } = deleted
        assert.deepEqual(rest, {
          type,
          id,
          version: 1,
          userId: patient.mvUid,
          userName: 'Ann Jansen',
          onBehalfOf: null,
          onBehalfOfName: null,
          deletedParent: null,
          application: rest.application,
        })
        assert.ok(Math.abs(Date.now() - Date.parse(deletedAt)) < DAY_MS)
        assert.ok(type === 'Custom' || (content?.length ?? 0) > 1)
        const isMeasured = isClassName(type) && isMeasurementKind(classKindOf(type))
        assert.equal(values.length > 0, isMeasured || type === 'Measurement')
        const { items } = assertStatus(await patient.call('GET', history))
        assert.deepEqual([items[0].action, items[0].at, items.length], ['delete', deletedAt, 2])
        // A composition is restored by no operation.
        if (!isClassName(type)) return
        await restore(patient, deleted)
        assert.deepEqual((await deletedIn(patient, patient)).items, [])
      })

  it('come page by page, the last deleted first, each once, also after it returned', async () => {
    const patient = await createPatient()
    const names = ['Asthma', 'Gout', 'Mumps', 'Acne', 'Flu']
    for (const name of names) await deleteDiagnosis(patient, name)
    const [flu, , mumps] = (await deletedIn(patient, patient)).items
    await restore(patient, mumps)
    await restore(patient, flu)
    assertStatus(await patient.call('DELETE', `diagnosis/${flu?.id}`), 204)
    const expected = [['Flu'], ['Acne'], ['Gout'], ['Asthma']]
    const pages = await pagesOf(patient, 'limit=1')
    assert.deepEqual(
      pages.map((page) => page.map(({ content }) => content)).filter(({ length }) => length > 0),
      expected,
    )
    assert.equal((await deletedIn(patient, patient)).items[0]?.version, 3)
    const { page } = assertStatus(await patient.call('GET', 'diagnosis?limit=1'))
    assertProblem(await patient.call('GET', `deleted?cursor=${page.next}`), 400, 'malformed-request')
    for (const query of ['type=Ehr', 'type=ChatMessage', 'limit=0'])
      assertProblem(await patient.call('GET', `deleted?${query}`), 400, 'invalid-input')
  })

  it('are found after thousands of deletions of a record that returned each time', async () => {
    const patient = await createPatient()
    const asthma = await deleteDiagnosis(patient, 'Asthma')
    const returning = await deleteDiagnosis(patient, 'Gout')
    const history = service.db.collection<Document & { _id: string }>('history.changes')
    const last = await history.findOne({ action: 'delete', 'before._id': returning })
    assert.ok(last)
    const earlier = Array.from({ length: 2100 }, (_, i) => ({
      ...last,
      version: i + 3,
      at: new Date(last.at.getTime() + i + 1),
      _id: last._id.replace(/\/\d+\/\w+$/, `/${String(i + 3).padStart(10, '0')}/x`),
    }))
    await history.insertMany(earlier)
    const records = (await pagesOf(patient)).flat()
    assert.deepEqual(
      records.map(({ id }) => id),
      [returning, asthma],
    )
  })

  it('name the deleted plan or goal to which they belong, which must return first', async () => {
    const { patient, place } = await newPlace()
    const { carePlanId, goalId } = place
    const { delete: remove } = byClass(patient)
    const ids = {
      BodyWeight: await createWeight(patient, carePlanId),
      Task: await createTask(patient, carePlanId, goalId),
      Goal: goalId,
      CarePlan: carePlanId,
    }
    for (const [type, id] of Object.entries(ids)) await remove(type, id).expect(200)
    const findDeleted = async () => (await deletedIn(patient, patient)).items
    const parents = async () => (await findDeleted()).map(({ type, deletedParent }) => [type, deletedParent])
    const inPlan = { type: 'CarePlan', id: carePlanId }
    const allRecords = await findDeleted()
    assert.deepEqual(await parents(), [
      ['CarePlan', null],
      ['Goal', inPlan],
      ['Task', inPlan],
      ['BodyWeight', inPlan],
    ])
    const [plan, goal, task, weight] = allRecords
    const refuse = async (record: DeletedRecordResource | undefined, detail: RegExp) => {
      assert.ok(record)
      const answer = await patient.call('POST', restorationOf(record), { version: record.version })
      assertProblem(answer, 409, 'conflict')
      assert.match(answer.body.detail, detail)
    }
    const restorePlanFirst = new RegExp(`care plan ${carePlanId}.*Restore the care plan first`)
    for (const one of [goal, task, weight]) await refuse(one, restorePlanFirst)
    await restore(patient, plan)
    assert.deepEqual(await parents(), [
      ['Goal', null],
      ['Task', { type: 'Goal', id: goalId }],
      ['BodyWeight', null],
    ])
    await refuse(task, new RegExp(`goal ${goalId}.*Restore the goal first`))
    for (const one of [weight, goal, task]) await restore(patient, one)
    assert.deepEqual(await findDeleted(), [])
  })

  it('are filtered by kind', async () => {
    const { patient, place } = await newPlace()
    await deleteDiagnosis(patient, 'Asthma')
    await deleteOne('Goal', patient, place)
    assert.deepEqual(await contentsIn(patient, patient, 'type=Diagnosis'), ['Asthma'])
    assert.deepEqual(await contentsIn(patient, patient, 'type=Goal'), ['Walk'])
    assert.deepEqual((await deletedIn(patient, patient, 'type=Task')).page, {
      limit: 100,
      next: null,
    })
  })

  it('have the history and the way back of the reaction itself, though another has its substance', async () => {
    const patient = await createPatient()
    const path = 'adversereaction/Penicillin'
    const put = async (comment: string) => {
      const { id } = assertStatus(await patient.call('PUT', path, { substance: 'Penicillin', comment }), 201)
      return id as string
    }
    const remove = async () => assertStatus(await patient.call('DELETE', path), 204)
    const ids = [await put('rash')]
    await remove()
    ids.unshift(await put('itching'))
    await remove()
    await put('fever')
    const { items } = await deletedIn(patient, patient)
    assert.deepEqual(
      items.map(({ id }) => id),
      ids,
    )
    for (const [at, comment] of ['itching', 'rash'].entries()) {
      const history = assertStatus(await patient.call('GET', items[at]?.history ?? ''))
      assert.equal(history.items[0].before.comment, comment)
    }
    const [, rash] = items
    assert.ok(rash)
    assertProblem(await patient.call('POST', restorationOf(rash), { version: 1 }), 409, 'conflict')
    await remove()
    await restore(patient, rash)
    assert.equal(assertStatus(await patient.call('GET', path)).comment, 'rash')
  })

  it('are those of the plans of a participant; strangers and administrators find no EHR', async () => {
    const { patient, place } = await newPlace()
    const [nurse, stranger, admin] = await Promise.all([createPerson(), createPerson(), createAdmin()])
    await addParticipant(place.carePlanId, nurse, 'read')
    const other = await createPlan(patient)
    for (const [plan, weight] of [
      [place.carePlanId, 70],
      [other, 80],
    ] as const) {
      const id = await createWeight(patient, plan, weight)
      assertStatus(await patient.call('DELETE', `procedure/bodyweight/${id}`), 204)
    }
    assert.equal((await contentsIn(patient, patient)).length, 2)
    const [visibleRecord, ...more] = (await deletedIn(patient, nurse)).items
    assert.deepEqual(visibleRecord?.values, [{ name: 'weight', value: 70, unit: 'kg' }])
    assert.deepEqual(more, [])
    for (const who of [stranger, admin])
      assertProblem(await who.call('GET', `/ehr/${patient.ehrId}/deleted`), 404, 'not-found')
    const audit = assertStatus(await patient.call('GET', 'audit')).items as Document[]
    const entries = audit.filter(({ asked }) => asked === 'deleted')
    assert.deepEqual(
      entries.map(({ userId, type, ids, outcome, action }) => [userId, type, ids.length, outcome, action]),
      [
        [admin.mvUid, 'Ehr', 0, 'denied', 'query'],
        [stranger.mvUid, 'Ehr', 0, 'denied', 'query'],
        [nurse.mvUid, 'BodyWeight', 1, 'done', 'query'],
        [patient.mvUid, 'BodyWeight', 2, 'done', 'query'],
      ],
    )
  })

  it('name a helper and the person; a participant of an anonymous plan learns no names', async () => {
    const patient = await createPatient()
    const plan = await createPlan(patient, { anonymous: true })
    const [nurse, helper] = await Promise.all([createPerson(), createPerson()])
    await addParticipant(plan, nurse, 'read')
    await Promise.all([setDisplayName(patient, 'Ann Jansen'), setDisplayName(helper, 'Piet Jansen')])
    await createHelper(patient, helper, ['READ', 'RECORD'])
    const acting = await actFor(patient, helper)
    const id = await createWeight(patient, plan)
    const path = `/ehr/${patient.ehrId}/procedure/bodyweight/${id}`
    assertStatus(await acting.call('DELETE', path), 204)
    for (const [reader, names] of [
      [patient, ['Piet Jansen', 'Ann Jansen']],
      [acting, ['Piet Jansen', 'Ann Jansen']],
      [nurse, [null, null]],
    ] as const) {
      const [one] = (await deletedIn(patient, reader)).items
      assert.deepEqual([one?.userId, one?.onBehalfOf], [helper.mvUid, patient.mvUid])
      assert.deepEqual([one?.userName, one?.onBehalfOfName], names)
    }
  })

  it('end with their EHR, return with it, and go with its purge', async () => {
    const [patient, admin] = await Promise.all([createPatient(), createAdmin()])
    const { ehrId } = patient
    const id = await deleteDiagnosis(patient, 'Asthma')
    const remove = async () => assertStatus(await patient.call('DELETE', `/med/ehr/${ehrId}`), 204)
    await remove()
    assertProblem(await patient.call('GET', 'deleted'), 404, 'not-found')
    assertStatus(await admin.call('POST', `/med/ehr/${ehrId}/restore`))
    assert.deepEqual(await contentsIn(patient, patient), ['Asthma'])
    await remove()
    await deletedEhrsOf(service).updateOne(
      { _id: ehrId },
      { $set: { at: new Date(Date.now() - 32 * DAY_MS) } },
    )
    await purgeDeletedEhrs({ ...service, contents: containedCollections }, new Date(), async () => {})
    assertProblem(await patient.call('GET', 'deleted'), 404, 'not-found')
    assert.equal(await service.db.collection('history.changes').countDocuments({ 'before._id': id }), 0)
  })
})

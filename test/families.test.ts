import assert from 'node:assert/strict'
import {
  agree,
  byClass,
  createByClass,
  createByPath,
  differing,
  KIND_NAMES,
  kinds,
  newPlace,
  type Place,
  pathOf,
  type Shown,
  shownBy,
  tellsVersion,
  writtenOf,
} from './family-kinds.ts'
import { letIn, newGoal, newPatient, newPlan, newTask, type Patient } from './harness/care/patients.ts'
import { assertError, moment } from './harness/clients/class-client.ts'
import { ok, refused } from './harness/clients/path-client.ts'
import { newAdmin, newPerson, type Person } from './harness/people/people.ts'
import { service } from './harness/service/service.ts'

describe('both families', () => {
  let patient: Patient
  let place: Place
  let stranger: Patient
  let nurse: Person
  before(async () => {
    ;[{ patient, place }, stranger, nurse] = await Promise.all([newPlace(), newPatient(), newPerson()])
    await letIn(place.carePlanId, nurse, 'read')
  })

  /** What is kept of the changes of a record: by whom which version, and how. */
  async function historyOf(name: string, ehrId: string, id: string): Promise<unknown[]> {
    const ofRecord = { _id: { $regex: `^${ehrId}/${name}/${id}/` } as never }
    const changes = await service.db.collection('history.changes').find(ofRecord).sort({ _id: 1 }).toArray()
    return changes.map(({ version, action, application }) => `${version} ${action} ${application}`)
  }

  for (const name of KIND_NAMES) {
    const { change, history, deletes } = kinds[name]
    const counted = (version: number) => (tellsVersion(name) ? version : kinds[name].body.version)
    const ehrOf = (id: string) => (name === 'Ehr' ? id : place.ehrId)

    describe(`share the ${name}`, () => {
      it('created by the path family', async () => {
        const created = await createByPath(patient, name, place)
        const id = String(created.id)
        const { body } = await byClass(patient).get(name, id).expect(200)
        agree(name, created, body)
        agree(name, (await shownBy(patient, name, place, id)).resource, body)
        const sent: Shown = { ...kinds[name].object(place), ...differing(id), version: 1 }
        for (const [field, value] of Object.entries(sent)) assert.deepEqual(body[field], value, field)
        assertError(await byClass(stranger).get(name, id), 101)
      })

      it('created by the class family', async () => {
        const object = await createByClass(patient, name, place)
        const id = String(object.objectId)
        const { resource } = await shownBy(patient, name, place, id)
        agree(name, resource, object)
        const sent: Shown = { ...writtenOf(name, id), version: counted(1) }
        for (const [field, value] of Object.entries(sent)) assert.deepEqual(resource?.[field], value, field)
        assert.equal((await shownBy(stranger, name, place, id)).resource, undefined)
      })

      if (change)
        it('updated in turn: neither overwrites what it has not seen', async () => {
          const id = String((await createByPath(patient, name, place)).id)
          const { put, get } = byClass(patient)
          const stale = (await get(name, id).expect(200)).body
          const read = await shownBy(patient, name, place, id)
          const { body } = await put(name, id, change).expect(200)
          assert.equal(body.version, 2)
          const { resource, etag } = await shownBy(patient, name, place, id)
          agree(name, resource, body)
          const replace = (ifMatch: string) =>
            patient.call('PUT', pathOf(name, place, id), writtenOf(name, id), { 'if-match': ifMatch })
          const late = await replace(read.etag ?? '"1"')
          refused(late, 412, 'precondition-failed')
          assert.equal(late.etag, '"2"')
          agree(name, ok(await replace(etag ?? '"2"')), (await get(name, id).expect(200)).body)
          assertError(await put(name, id, { ...stale, ...change }), 142, /version may not be changed/)
          const { body: now } = await get(name, id).expect(200)
          assert.equal(now.version, 3)
          await put(name, id, { ...now, ...change }).expect(200)
          const after = await shownBy(patient, name, place, id)
          assert.equal(after.resource?.version, counted(4))
          if (etag !== undefined) {
            const unless = (value = '') =>
              patient.call('GET', pathOf(name, place, id), undefined, { 'if-none-match': value })
            assert.deepEqual([(await unless(etag)).status, (await unless(after.etag)).status], [200, 304])
          }
        })

      it('with one history', async () => {
        const byPath = String((await createByPath(patient, name, place)).id)
        const object = String((await createByClass(patient, name, place)).objectId)
        for (const id of [byPath, object])
          await byClass(patient)
            .put(name, id, change ?? {})
            .expect(200)
        const changes = change ? ['2 update class family', '3 update path family'] : ['2 update class family']
        for (const [id, first] of [
          [byPath, 'path family'],
          [object, 'class family'],
        ] as const) {
          if (change) ok(await patient.call('PUT', pathOf(name, place, id), writtenOf(name, id)))
          assert.deepEqual(await historyOf(name, ehrOf(id), id), [`1 create ${first}`, ...changes])
          if (!history) continue
          const { items } = ok(await patient.call('GET', `${pathOf(name, place, id)}/history`))
          assert.deepEqual(
            items.map(({ version, changed, before }: Shown) => [
              version,
              changed,
              (before as Shown)?.version,
            ]),
            [
              [3, Object.keys(change ?? {}), counted(2)],
              [2, Object.keys(change ?? {}), counted(1)],
              [1, [], undefined],
            ],
          )
        }
      })

      it('deleted by the class family', async () => {
        const owner = name === 'Ehr' ? await newPatient() : patient
        const id = name === 'Ehr' ? owner.ehrId : String((await createByPath(owner, name, place)).id)
        await byClass(owner).delete(name, id).expect(200)
        assert.equal((await shownBy(owner, name, place, id)).resource, undefined)
        // What is put under a path of its own is made anew.
        const again =
          change && !kinds[name].isNamed
            ? owner.call('PUT', pathOf(name, place, id), writtenOf(name, id))
            : owner.call('DELETE', pathOf(name, place, id))
        refused(await again, 404, 'not-found')
      })

      if (deletes)
        it('deleted by the path family, as it was seen', async () => {
          const owner = name === 'Ehr' ? await newPatient() : patient
          const id = name === 'Ehr' ? owner.ehrId : String((await createByPath(owner, name, place)).id)
          await byClass(owner)
            .put(name, id, change ?? {})
            .expect(200)
          const remove = (version: number) =>
            owner.call('DELETE', pathOf(name, place, id), undefined, { 'if-match': `"${version}"` })
          refused(await remove(1), 412, 'precondition-failed')
          ok(await remove(2), 204)
          assertError(await byClass(owner).get(name, id), 101)
          assertError(await byClass(owner).put(name, id, change ?? {}), 101)
          assertError(await byClass(owner).delete(name, id), 101)
        })

      it('with a participant, who may read it and no more', async () => {
        const own: Partial<Record<string, string>> = { Ehr: place.ehrId, CarePlan: place.carePlanId }
        const id = own[name] ?? String((await createByPath(patient, name, place)).id)
        const { resource } = await shownBy(nurse, name, place, id)
        agree(name, resource, (await byClass(nurse).get(name, id).expect(200)).body)
        const method = change ? 'PUT' : 'DELETE'
        refused(
          await nurse.call(method, pathOf(name, place, id), change && writtenOf(name, id)),
          403,
          'forbidden',
        )
        assertError(await byClass(nurse).put(name, id, change ?? {}), 101)
        assertError(await byClass(nurse).delete(name, id), 101)
      })
    })
  }

  it('keep the time of day that only one of them shows', async () => {
    const sent = { name: 'x', ehrId: patient.ehrId, actualStartDate: moment('2026-01-02T15:04:05.678Z') }
    const { objectId } = (await byClass(patient).post('CarePlan', sent).expect(201)).body
    const plan = ok(await patient.call('GET', `careplan/${objectId}`))
    assert.equal(plan.actualStartDate, '2026-01-02')
    const body = { name: 'y', actualStartDate: plan.actualStartDate }
    ok(await patient.call('PUT', `careplan/${objectId}`, body))
    const after = (await byClass(patient).get('CarePlan', objectId).expect(200)).body
    assert.deepEqual([after.name, after.actualStartDate], ['y', sent.actualStartDate])
  })

  it('write into an EHR that the other one made', async () => {
    const { id } = await createByPath(patient, 'Ehr', place)
    await byClass(patient).post('CarePlan', { ehrId: id, name: 'x' }).expect(201)
    const { objectId } = await createByClass(patient, 'Ehr', place)
    ok(await patient.call('POST', `/ehr/${objectId}/careplan`, { name: 'x' }), 201)
  })

  it('lose and get back all that is in an EHR', async () => {
    const [one, other] = [await newPatient(), await newPatient()]
    const plan = await newPlan(one)
    await newTask(one, plan, await newGoal(one, plan))
    ok(await one.call('DELETE', `/med/ehr/${one.ehrId}`), 204)
    for (const name of ['CarePlan', 'Goal', 'Task'])
      assert.deepEqual((await byClass(one).list(name, {}).expect(200)).body.results, [])
    assertError(await byClass(one).post('Goal', { ehrId: one.ehrId, carePlanId: plan, name: 'x' }), 101)
    const admin = await newAdmin()
    ok(await admin.call('POST', `/med/ehr/${one.ehrId}/restore`))
    await byClass(one).get('CarePlan', plan).expect(200)
    assert.equal((await byClass(one).list('Task', {}).expect(200)).body.results.length, 1)

    const kept = await newPlan(other)
    await byClass(other).delete('Ehr', other.ehrId).expect(200)
    assert.deepEqual(ok(await other.call('GET', '/ehr')).items, [])
    refused(await other.call('GET', `/ehr/${other.ehrId}/careplan`), 404, 'not-found')
    assert.equal(ok(await admin.call('POST', `/med/ehr/${other.ehrId}/restore`)).version, 3)
    ok(await other.call('POST', `careplan/${kept}/goal`, { name: 'x' }), 201)
    await byClass(other).post('Goal', { ehrId: other.ehrId, carePlanId: kept, name: 'y' }).expect(201)
    assert.equal(ok(await other.call('GET', `careplan/${kept}`)).goals.length, 2)
  })

  it('obey the same rules', async () => {
    const closed = await newPlan(patient)
    ok(await patient.call('POST', `careplan/${closed}/close`, {}))
    const goal = { ehrId: patient.ehrId, carePlanId: closed, name: 'x' }
    assertError(await byClass(patient).post('Goal', goal), 142, 'carePlanId names a care plan that is closed')
    refused(await patient.call('POST', `careplan/${closed}/goal`, { name: 'x' }), 422, 'rule-violated')
    const plan = await newPlan(patient, { language: 'en' })
    assertError(
      await byClass(patient).put('CarePlan', plan, { language: 'nl' }),
      142,
      'language may not be changed',
    )
    refused(
      await patient.call('PUT', `careplan/${plan}`, { name: 'x', language: 'nl' }),
      422,
      'rule-violated',
    )
  })

  it('change the ETag of a plan when the class family changes a goal of it', async () => {
    const look = async () => (await patient.call('GET', `careplan/${place.carePlanId}`)).etag
    const before = await look()
    await byClass(patient).put('Goal', place.goalId, { notes: 'by class' }).expect(200)
    assert.notEqual(await look(), before)
  })
})

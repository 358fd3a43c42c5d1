import assert from 'node:assert/strict'
import {
  agree,
  byClass,
  createByPath,
  expectedOf,
  KIND_NAMES,
  kinds,
  newPlace,
  type Place,
  pathOf,
  readByPath,
} from './family-kinds.ts'
import {
  addParticipant,
  createGoal,
  createPatient,
  createPlan,
  createTask,
  type Patient,
} from './harness/care/patients.ts'
import { assertError } from './harness/clients/class-client.ts'
import { assertProblem, assertStatus } from './harness/clients/path-client.ts'
import { createAdmin, createPerson, type Person } from './harness/people/people.ts'

describe('for both families', () => {
  let patient: Patient
  let place: Place
  let nurse: Person
  before(async () => {
    ;[{ patient, place }, nurse] = await Promise.all([newPlace(), createPerson()])
    await addParticipant(place.carePlanId, nurse, 'read')
  })

  for (const name of KIND_NAMES) {
    const { change, deletes } = kinds[name]

    describe(`the ${name}`, () => {
      it('is gone after its deletion by the class family', async () => {
        const owner = name === 'Ehr' ? await createPatient() : patient
        const id = name === 'Ehr' ? owner.ehrId : String((await createByPath(owner, name, place)).id)
        await byClass(owner).delete(name, id).expect(200)
        assert.equal((await readByPath(owner, name, place, id)).resource, undefined)
        // A PUT at a path of its own creates the record again.
        const second =
          change && !kinds[name].isNamed
            ? owner.call('PUT', pathOf(name, place, id), expectedOf(name, id))
            : owner.call('DELETE', pathOf(name, place, id))
        assertProblem(await second, 404, 'not-found')
      })

      if (deletes)
        it('is gone after its deletion by the path family, at the version that was seen', async () => {
          const owner = name === 'Ehr' ? await createPatient() : patient
          const id = name === 'Ehr' ? owner.ehrId : String((await createByPath(owner, name, place)).id)
          await byClass(owner)
            .put(name, id, change ?? { version: 1 })
            .expect(200)
          const remove = (version: number) =>
            owner.call('DELETE', pathOf(name, place, id), undefined, { 'if-match': `"${version}"` })
          // An EHR has no property to change, and keeps its version.
          const currentVersion = change ? 2 : 1
          assertProblem(await remove(currentVersion + 1), 412, 'precondition-failed')
          assertStatus(await remove(currentVersion), 204)
          assertError(await byClass(owner).get(name, id), 101)
          assertError(await byClass(owner).put(name, id, change ?? { version: 1 }), 101)
          assertError(await byClass(owner).delete(name, id), 101)
        })

      it('is readable for a participant, and not changeable', async () => {
        const own: Partial<Record<string, string>> = { Ehr: place.ehrId, CarePlan: place.carePlanId }
        const id = own[name] ?? String((await createByPath(patient, name, place)).id)
        const { resource } = await readByPath(nurse, name, place, id)
        agree(name, resource, (await byClass(nurse).get(name, id).expect(200)).body)
        const method = change ? 'PUT' : 'DELETE'
        assertProblem(
          await nurse.call(method, pathOf(name, place, id), change && expectedOf(name, id)),
          403,
          'forbidden',
        )
        assertError(await byClass(nurse).put(name, id, change ?? { version: 1 }), 119)
        assertError(await byClass(nurse).delete(name, id), 119)
      })
    })
  }

  it('all records in a deleted EHR are gone, and return with it', async () => {
    const one = await createPatient()
    const other = await createPatient()
    const plan = await createPlan(one)
    await createTask(one, plan, await createGoal(one, plan))
    assertStatus(await one.call('DELETE', `/med/ehr/${one.ehrId}`), 204)
    for (const name of ['CarePlan', 'Goal', 'Task'])
      assert.deepEqual((await byClass(one).list(name, {}).expect(200)).body.results, [])
    assertError(await byClass(one).post('Goal', { ehrId: one.ehrId, carePlanId: plan, name: 'x' }), 101)
    const admin = await createAdmin()
    assertStatus(await admin.call('POST', `/med/ehr/${one.ehrId}/restore`))
    await byClass(one).get('CarePlan', plan).expect(200)
    assert.equal((await byClass(one).list('Task', {}).expect(200)).body.results.length, 1)

    const planId = await createPlan(other)
    await byClass(other).delete('Ehr', other.ehrId).expect(200)
    assert.deepEqual(assertStatus(await other.call('GET', '/ehr')).items, [])
    assertProblem(await other.call('GET', `/ehr/${other.ehrId}/careplan`), 404, 'not-found')
    assert.equal(assertStatus(await admin.call('POST', `/med/ehr/${other.ehrId}/restore`)).version, 3)
    assertStatus(await other.call('POST', `careplan/${planId}/goal`, { name: 'x' }), 201)
    await byClass(other).post('Goal', { ehrId: other.ehrId, carePlanId: planId, name: 'y' }).expect(201)
    assert.equal(assertStatus(await other.call('GET', `careplan/${planId}`)).goals.length, 2)
  })
})

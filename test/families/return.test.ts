import assert from 'node:assert/strict'
import { kinds as allKinds, containedCollections } from '../../records/kinds.ts'
import {
  agree,
  byClass,
  createByPath,
  type Json,
  KIND_NAMES,
  type KindName,
  kinds,
  newPlace,
  type Place,
  pathOf,
  readByPath,
  tellsVersion,
} from '../family-kinds.ts'
import { createTask, createWeight, type Patient } from '../harness/care/patients.ts'
import { assertError } from '../harness/clients/class-client.ts'
import { assertProblem, assertStatus } from '../harness/clients/path-client.ts'
import { createAdmin, createPerson } from '../harness/people/people.ts'
import { service } from '../harness/service/service.ts'

/** All ids of an EHR's records, in their collections or in the history of deletions. */
async function idsOf(ehrId: string): Promise<Set<string>> {
  const found = await Promise.all(
    allKinds.map(async ({ collection }) =>
      (await service.db.collection(collection).distinct('_id', { ehrId })).map((id) => `${collection} ${id}`),
    ),
  )
  const deleted = await service.db
    .collection<{ _id: string; before: { _id: string } }>('history.changes')
    .find({ _id: { $gte: `${ehrId}/`, $lt: `${ehrId}0` }, action: 'delete' })
    .toArray()
  return new Set([...found.flat(), ...deleted.map(({ _id, before }) => `${_id.split('/')[1]} ${before._id}`)])
}

const withoutVersion = ({ version: _, updatedAt: __, lastUpdated: ___, ...resource }: Json) => resource

/** Each way to delete a record, in either family. */
const deletions = {
  'the class family': (who: Patient, name: KindName, _: Place, id: string) =>
    byClass(who).delete(name, id).expect(200),
  'the path family': async (who: Patient, name: KindName, place: Place, id: string) =>
    assertStatus(await who.call('DELETE', pathOf(name, place, id)), 204),
}

describe('a deletion', () => {
  const returning = KIND_NAMES.filter((name) => kinds[name].history)

  it('is tried for every kind that has a history', () => {
    assert.ok(returning.length >= 10, String(returning))
    const containers = Object.keys(containedCollections).filter((name) => name !== 'Ehr')
    assert.deepEqual(
      containers.filter((name) => !returning.includes(name as KindName)),
      [],
    )
  })

  for (const name of returning)
    for (const [family, remove] of Object.entries(deletions)) {
      if (family === 'the path family' && !kinds[name].deletes) continue

      it(`loses nothing of the ${name} by ${family}, and it returns as it was`, async () => {
        const { patient, place } = await newPlace()
        const id =
          name === 'CarePlan'
            ? place.carePlanId
            : name === 'Goal'
              ? place.goalId
              : String((await createByPath(patient, name, place)).id)
        if (!kinds[name].isNamed) await createByPath(patient, 'BloodPressure', place)
        const task = await createTask(patient, place.carePlanId, place.goalId)
        const [before, all] = [await readByPath(patient, name, place, id), await idsOf(place.ehrId)]
        await remove(patient, name, place, id)
        const after = await idsOf(place.ehrId)
        assert.deepEqual(
          [...all].filter((one) => !after.has(one)),
          [],
        )
        assert.equal((await readByPath(patient, name, place, id)).resource, undefined)
        assertError(await byClass(patient).get(name, id), 101)

        const path = pathOf(name, place, id)
        if (kinds[name].isNamed) return
        const { items } = assertStatus(await patient.call('GET', `${path}/history`))
        assert.deepEqual([items[0].action, items[0].version], ['delete', 2])
        assertProblem(await (await createPerson()).call('GET', `${path}/history`), 404, 'not-found')
        assertProblem(
          await (await createPerson()).call('POST', `${path}/restore`, { version: 1 }),
          404,
          'not-found',
        )
        const back = assertStatus(await patient.call('POST', `${path}/restore`, { version: 1 }))
        if (tellsVersion(name)) assert.equal(back.version, 3)
        const restored = await readByPath(patient, name, place, id)
        assert.deepEqual(
          name === 'CarePlan' || name === 'Goal'
            ? restored.resource?.id
            : withoutVersion(restored.resource ?? {}),
          name === 'CarePlan' || name === 'Goal' ? id : withoutVersion(before.resource ?? {}),
        )
        agree(name, restored.resource, (await byClass(patient).get(name, id).expect(200)).body)
        await byClass(patient).get('Task', task).expect(200)
        assert.deepEqual(await idsOf(place.ehrId), after)
      })
    }

  it('is refused to the participants of a care plan, in both families', async () => {
    const { patient, place } = await newPlace()
    for (const access of ['READ', 'WRITE', 'MANAGE']) {
      const participant = await createPerson()
      const path = `/ehr/${place.ehrId}/careplan/${place.carePlanId}`
      const body = { mvUid: participant.mvUid, access, role: 'NURSE' }
      assertStatus(await patient.call('POST', `${path}/participant`, body), 201)
      assertProblem(await participant.call('DELETE', path), 403, 'forbidden')
      assertError(await byClass(participant).delete('CarePlan', place.carePlanId), 119)
      assertStatus(await participant.call('GET', path))
    }
  })

  it('ends the access of the participants of a care plan until it returns', async () => {
    const { patient, place } = await newPlace()
    const nurse = await createPerson()
    const path = `/ehr/${place.ehrId}/careplan/${place.carePlanId}`
    const body = { mvUid: nurse.mvUid, access: 'WRITE', role: 'NURSE' }
    assertStatus(await patient.call('POST', `${path}/participant`, body), 201)
    const weight = await createWeight(patient, place.carePlanId)
    const goalHistory = `${path}/goal/${place.goalId}/history`
    await byClass(patient).delete('Goal', place.goalId).expect(200)
    assertStatus(await patient.call('DELETE', path), 204)
    for (const one of [path, `/ehr/${place.ehrId}/procedure/bodyweight/${weight}`, `${path}/history`])
      assertProblem(await nurse.call('GET', one), 404, 'not-found')
    assertProblem(
      await patient.call('POST', goalHistory.replace('history', 'restore'), { version: 1 }),
      404,
      'not-found',
    )
    assertStatus(await patient.call('POST', `${path}/restore`, { version: 1 }))
    assertStatus(await nurse.call('GET', `/ehr/${place.ehrId}/procedure/bodyweight/${weight}`))
    assert.deepEqual(assertStatus(await nurse.call('GET', path)).goals, [], 'the goal was deleted before')
    assertStatus(await nurse.call('POST', goalHistory.replace('history', 'restore'), { version: 1 }))
    assert.equal(assertStatus(await nurse.call('GET', path)).goals.length, 1)

    assertStatus(await patient.call('DELETE', path), 204)
    assertStatus(await patient.call('DELETE', `/med/ehr/${place.ehrId}`), 204)
    assertProblem(await patient.call('GET', `${path}/history`), 404, 'not-found')
    const admin = await createAdmin()
    assertStatus(await admin.call('POST', `/med/ehr/${place.ehrId}/restore`))
    assertProblem(await nurse.call('GET', path), 404, 'not-found')
    assertProblem(await patient.call('GET', path), 404, 'not-found')
    assertStatus(await patient.call('POST', `${path}/restore`, { version: 3 }))
    assertStatus(await nurse.call('GET', path))
  })
})

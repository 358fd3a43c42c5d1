import assert from 'node:assert/strict'
import type { ClassName } from '../../records/kinds.ts'
import { createGoal, createPatient, createPlan, createTask, type Patient } from '../harness/care/patients.ts'
import { exampleObject, parentIdsOf } from '../harness/care/samples/examples.ts'
import { assertError, createClassClient } from '../harness/clients/class-client.ts'
import { assertStatus } from '../harness/clients/path-client.ts'

/**
 * Writes an object of one's own while the body names another object. Its id, history and audit must not be
 * touched.
 */
describe('attack: a write in the name of another object', () => {
  let victim: Patient
  let attacker: Patient
  before(async () => {
    ;[victim, attacker] = await Promise.all([createPatient(), createPatient()])
  })

  async function newPlace({ ehrId, ...patient }: Patient) {
    const carePlanId = await createPlan({ ehrId, ...patient })
    const goalId = await createGoal({ ehrId, ...patient }, carePlanId)
    return { ehrId, carePlanId, goalId, taskId: await createTask({ ehrId, ...patient }, carePlanId, goalId) }
  }

  const newObject = async (name: ClassName, patient: Patient, ids: object): Promise<string> =>
    (
      await createClassClient(patient)
        .post(name, { ...exampleObject(name), ...parentIdsOf(name, ids) })
        .expect(201)
    ).body.objectId

  const changes: readonly [ClassName, object][] = [
    ['CarePlan', { status: 'CANCELLED', name: 'Not yours' }],
    ['CarePlan', { notes: 'Not yours' }],
    ['Goal', { status: 'COMPLETED', outcome: 'Not yours' }],
    ['Task', { status: 'COMPLETED', outcome: 'Not yours' }],
    ['Event', { title: 'Not yours' }],
    ['BloodPressure', { systolic: 190 }],
    ['Diagnosis', { name: 'Not yours' }],
  ]

  it('is refused, and changes neither object', async () => {
    const [theirs, own] = await Promise.all([newPlace(victim), newPlace(attacker)])
    for (const [name, change] of changes) {
      const target = await newObject(name, victim, theirs)
      const id = await newObject(name, attacker, own)
      const stored = async () => [
        (await createClassClient(victim).get(name, target).expect(200)).body,
        (await createClassClient(attacker).get(name, id).expect(200)).body,
      ]
      const before = await stored()
      for (const idField of [{ objectId: target }, { id: target }])
        assertError(
          await createClassClient(attacker).put(name, id, { ...idField, ...change }),
          142,
          'objectId cannot be changed',
        )
      assert.deepEqual(await stored(), before)
      await createClassClient(attacker)
        .put(name, id, { objectId: id, ...change })
        .expect(200)
    }
  })

  it('does not keep a change of one’s own out of its history', async () => {
    const { carePlanId } = await newPlace(attacker)
    const id = await newObject('BloodPressure', attacker, { carePlanId })
    const path = `procedure/bloodpressure/${id}/history`
    await createClassClient(attacker).put('BloodPressure', id, { objectId: id, systolic: 150 }).expect(200)
    await createClassClient(attacker).put('BloodPressure', id, { objectId: 'another', systolic: 160 })
    const { items } = assertStatus(await attacker.call('GET', path))
    assert.deepEqual(
      items.map(({ version }: { version: number }) => version),
      [2, 1],
    )
  })
})

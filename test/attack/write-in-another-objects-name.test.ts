import assert from 'node:assert/strict'
import type { ClassName } from '../../records/kinds.ts'
import { newGoal, newPatient, newPlan, newTask, type Patient } from '../harness/care/patients.ts'
import { exampleObject, placeOf } from '../harness/care/samples/examples.ts'
import { assertError, classesOf } from '../harness/clients/class-client.ts'
import { ok } from '../harness/clients/path-client.ts'

/** Writes an object of one's own, and names somebody else's in the body: whose id, history and audit would it be? */
describe('attack: a write in the name of another object', () => {
  let victim: Patient
  let attacker: Patient
  before(async () => {
    ;[victim, attacker] = await Promise.all([newPatient(), newPatient()])
  })

  async function newPlace({ ehrId, ...patient }: Patient) {
    const carePlanId = await newPlan({ ehrId, ...patient })
    const goalId = await newGoal({ ehrId, ...patient }, carePlanId)
    return { ehrId, carePlanId, goalId, taskId: await newTask({ ehrId, ...patient }, carePlanId, goalId) }
  }

  const newObject = async (name: ClassName, patient: Patient, ids: object): Promise<string> =>
    (
      await classesOf(patient)
        .post(name, { ...exampleObject(name), ...placeOf(name, ids) })
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

  it('is refused, and neither of them is written', async () => {
    const [theirs, own] = await Promise.all([newPlace(victim), newPlace(attacker)])
    for (const [name, change] of changes) {
      const target = await newObject(name, victim, theirs)
      const id = await newObject(name, attacker, own)
      const stored = async () => [
        (await classesOf(victim).get(name, target).expect(200)).body,
        (await classesOf(attacker).get(name, id).expect(200)).body,
      ]
      const before = await stored()
      for (const named of [{ objectId: target }, { id: target }])
        assertError(
          await classesOf(attacker).put(name, id, { ...named, ...change }),
          142,
          'objectId may not be changed',
        )
      assert.deepEqual(await stored(), before)
      await classesOf(attacker)
        .put(name, id, { objectId: id, ...change })
        .expect(200)
    }
  })

  it('leaves no change of one’s own out of its history', async () => {
    const { carePlanId } = await newPlace(attacker)
    const id = await newObject('BloodPressure', attacker, { carePlanId })
    const path = `procedure/bloodpressure/${id}/history`
    await classesOf(attacker).put('BloodPressure', id, { objectId: id, systolic: 150 }).expect(200)
    await classesOf(attacker).put('BloodPressure', id, { objectId: 'another', systolic: 160 })
    const { items } = ok(await attacker.call('GET', path))
    assert.deepEqual(
      items.map(({ version }: { version: number }) => version),
      [2, 1],
    )
  })
})

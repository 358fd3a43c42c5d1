import assert from 'node:assert/strict'
import { BATCH_LIMITS } from '../../../records/store/batching/transaction-batches.ts'
import { byClass } from '../../family-kinds.ts'
import {
  createGoal,
  createPatient,
  createPlan,
  createTask,
  type Patient,
  readAudit,
} from '../../harness/care/patients.ts'
import { assertProblem, assertStatus } from '../../harness/clients/path-client.ts'
import { placesOfViolations } from '../../harness/clients/violation-places.ts'
import { service } from '../../harness/service/service.ts'
import { bySize } from '../../harness/test-size.ts'

type Kept = { _id: string; [field: string]: unknown }
type Part = { status: string; version: number }
type WithTasks = Part & { tasks: Part[] }

describe('care plans when they are closed', () => {
  let patient: Patient
  before(async () => {
    patient = await createPatient()
  })

  const filled = async () => {
    const id = await createPlan(patient)
    const goalId = await createGoal(patient, id)
    const taskId = await createTask(patient, id, goalId)
    const closedTask = await createTask(patient, id, goalId)
    assertStatus(
      await patient.call('POST', `careplan/${id}/goal/${goalId}/task/${closedTask}/close`, {
        status: 'CANCELLED',
      }),
    )
    return { id, goalId, taskId }
  }

  it('report open goals and tasks, and leave them open', async () => {
    const { id, goalId, taskId } = await filled()
    const closing = { outcome: '128/82', achievementDate: '2026-05-01' }
    const plan = assertStatus(await patient.call('POST', `careplan/${id}/close`, closing))
    assert.deepEqual([plan.status, plan.outcome, plan.achievementDate], ['COMPLETED', '128/82', '2026-05-01'])
    assert.deepEqual(plan.open, [
      { kind: 'GOAL', id: goalId, name: 'Walk' },
      { kind: 'TASK', id: taskId, name: 'Buy shoes' },
    ])
    assert.deepEqual(assertStatus(await patient.call('GET', `careplan/${id}`)).goals[0].status, 'ACTIVE')
  })

  it('close open goals and tasks on request', async () => {
    const { id } = await filled()
    const plan = assertStatus(
      await patient.call('POST', `careplan/${id}/close`, { status: 'CANCELLED', closeOpen: true }),
    )
    assert.deepEqual(plan.open, [])
    const { goals } = assertStatus(await patient.call('GET', `careplan/${id}`))
    assert.deepEqual(goals, plan.goals)
    assert.deepEqual([goals[0].status, goals[0].version], ['CANCELLED', 2])
    assert.deepEqual(
      goals[0].tasks.map(({ status, version }: { status: string; version: number }) => [status, version]),
      [
        ['CANCELLED', 2],
        ['CANCELLED', 2],
      ],
    )
  })

  it('leave alone the tasks of deleted goals, also in a large plan', async () => {
    const { maxDocuments } = BATCH_LIMITS
    for (const limit of [maxDocuments, 2]) {
      const { id, goalId, taskId } = await filled()
      const other = await createGoal(patient, id)
      const task = await createTask(patient, id, other)
      await byClass(patient).delete('Goal', goalId).expect(200)
      BATCH_LIMITS.maxDocuments = limit
      try {
        assertStatus(await patient.call('POST', `careplan/${id}/close`, { closeOpen: true }))
      } finally {
        BATCH_LIMITS.maxDocuments = maxDocuments
      }
      assertStatus(await patient.call('POST', `careplan/${id}/goal/${goalId}/restore`, { version: 1 }))
      const statusOf = async (one: string) =>
        (await byClass(patient).get('Task', one).expect(200)).body.status
      assert.deepEqual([await statusOf(taskId), await statusOf(task)], ['ACTIVE', 'COMPLETED'])
    }
  })

  it('refuse a second closing, and further goals and tasks', async () => {
    const { id, goalId } = await filled()
    assertStatus(await patient.call('POST', `careplan/${id}/close`, {}))
    assert.deepEqual(
      assertProblem(await patient.call('POST', `careplan/${id}/close`, {}), 422, 'rule-violated'),
      ['closed'],
    )
    for (const path of [`careplan/${id}/goal`, `careplan/${id}/goal/${goalId}/task`]) {
      const answer = await patient.call('POST', path, { name: 'x' })
      assert.deepEqual(assertProblem(answer, 422, 'rule-violated'), ['closed'])
      assert.deepEqual(placesOfViolations(answer), ['path.careplanId'])
    }
    assertProblem(
      await patient.call('POST', `careplan/${id}/close`, { status: 'ACTIVE' }),
      400,
      'invalid-input',
    )
  })

  it('are closed by only one of two concurrent requests', async () => {
    for (let round = 0; round < 3; round++) {
      const { id } = await filled()
      const close = (status: string) =>
        patient.call('POST', `careplan/${id}/close`, { status, closeOpen: true })
      const answers = await Promise.all([close('COMPLETED'), close('CANCELLED'), close('COMPLETED')])
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 422, 422])
      const won = answers.find(({ status }) => status === 200)!.body.status
      const plan = assertStatus(await patient.call('GET', `careplan/${id}`))
      assert.deepEqual([plan.status, plan.goals[0].status, plan.version], [won, won, 2])
    }
  })

  it('never miss a goal that is added concurrently', async () => {
    for (let round = 0; round < 5; round++) {
      const id = await createPlan(patient)
      const [added, closed] = await Promise.all([
        patient.call('POST', `careplan/${id}/goal`, { name: 'x' }),
        patient.call('POST', `careplan/${id}/close`, { closeOpen: true }),
      ])
      assertStatus(closed!)
      const { goals } = assertStatus(await patient.call('GET', `careplan/${id}`))
      assert.equal(goals.length, added!.status === 201 ? 1 : 0)
      for (const { status } of goals) assert.equal(status, 'COMPLETED')
      assert.ok(added!.status === 201 || added!.status === 422)
    }
  })

  it('refuse records from eight concurrent writers from then on', async () => {
    const id = await createPlan(patient)
    let stored = 0
    const storing = async (from: number): Promise<void> => {
      for (let i = from; ; i += 8) {
        const timestamp = new Date(Date.UTC(2024, 0, 1, 0, i)).toISOString()
        const value = { carePlanId: id, timestamp, weight: 80, weightUnit: 'kg' }
        const answer = await patient.call('POST', 'procedure/bodyweight', value)
        if (answer.status === 201) stored += 1
        else return void assert.deepEqual(assertProblem(answer, 422, 'rule-violated'), ['closed'])
      }
    }
    const writes = Promise.all(Array.from({ length: 8 }, (_, from) => storing(from)))
    while (stored < 16) await new Promise(setImmediate)
    assertStatus(await patient.call('POST', `careplan/${id}/close`, {}))
    await writes
    const { page } = assertStatus(
      await patient.call('GET', `procedure/bodyweight?carePlanId=${id}&count=true&limit=1`),
    )
    assert.equal(page.total, stored)
  })

  it('take the lock also if a replacement closes them, so that no record is added meanwhile', async () => {
    const { id, goalId } = await filled()
    const countLocks = async (): Promise<unknown> =>
      (await service.db.collection<Kept>('ehr.turns').findOne({ _id: patient.ehrId }))?.turns
    for (const path of [`careplan/${id}/goal/${goalId}`, `careplan/${id}`]) {
      const before = Number(await countLocks())
      assertStatus(await patient.call('PUT', path, { name: 'still open' }))
      assert.equal(await countLocks(), before)
      assertStatus(await patient.call('PUT', path, { name: 'closed', status: 'COMPLETED' }))
      assert.equal(await countLocks(), before + 1)
      assertProblem(await patient.call('PUT', path, { name: 'x', status: 'CANCELLED' }), 422, 'rule-violated')
      assert.equal(await countLocks(), before + 1)
    }
  })

  it('close thousands of tasks together, with audit and history of each', async () => {
    const count = bySize(12, 100)
    const id = await createPlan(patient)
    const goalId = await createGoal(patient, id)
    const taskId = await createTask(patient, id, goalId)
    const goals = service.db.collection<Kept>('Goal')
    const tasks = service.db.collection<Kept>('Task')
    const { _id: _g, ...goal } = (await goals.findOne({ _id: goalId }))!
    const { _id: _t, ...task } = (await tasks.findOne({ _id: taskId }))!
    const goalIds = Array.from({ length: count - 1 }, (_, i) => `${id}${i}`)
    await goals.insertMany(goalIds.map((_id) => ({ ...goal, _id })))
    const [, ...others] = [goalId, ...goalIds].flatMap((of) =>
      Array.from({ length: 100 }, (_, i) => ({ ...task, _id: `${of}t${i}`, goalId: of })),
    )
    await tasks.insertMany(others)

    const since = new Date()
    const plan = assertStatus(await patient.call('POST', `careplan/${id}/close`, { closeOpen: true }))
    assert.deepEqual(plan.open, [])
    const parts = plan.goals.flatMap((goal: WithTasks) => [goal, ...goal.tasks])
    assert.equal(parts.length, 101 * count)
    for (const { status, version } of parts) assert.deepEqual([status, version], ['COMPLETED', 2])
    const audit = await readAudit(patient.ehrId, since)
    const entries = (line: string) => audit.filter((one) => one === line).length
    assert.equal(entries('update Goal done'), 1)
    assert.equal(entries('update Task done'), Math.ceil(count / 10))
    const last = goalIds.at(-1)
    const history = `careplan/${id}/goal/${last}/task/${last}t99/history`
    const { items } = assertStatus(await patient.call('GET', history))
    assert.deepEqual([items[0].changed, items[0].before.status], [['status'], 'ACTIVE'])
  }).timeout(60_000)
})

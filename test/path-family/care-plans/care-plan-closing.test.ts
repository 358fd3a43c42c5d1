import assert from 'node:assert/strict'
import { auditOf, newGoal, newPatient, newPlan, newTask, type Patient } from '../../harness/care/patients.ts'
import { placesIn } from '../../harness/clients/named.ts'
import { ok, refused } from '../../harness/clients/path-client.ts'
import { service } from '../../harness/service/service.ts'
import { sized } from '../../harness/size.ts'

type Kept = { _id: string; [field: string]: unknown }
type Part = { status: string; version: number }
type WithTasks = Part & { tasks: Part[] }

describe('care plans that are closed', () => {
  let patient: Patient
  before(async () => {
    patient = await newPatient()
  })

  const filled = async () => {
    const id = await newPlan(patient)
    const goalId = await newGoal(patient, id)
    const taskId = await newTask(patient, id, goalId)
    const closedTask = await newTask(patient, id, goalId)
    ok(
      await patient.call('POST', `careplan/${id}/goal/${goalId}/task/${closedTask}/close`, {
        status: 'CANCELLED',
      }),
    )
    return { id, goalId, taskId }
  }

  it('say what is still open, and leave it open', async () => {
    const { id, goalId, taskId } = await filled()
    const told = { outcome: '128/82', achievementDate: '2026-05-01' }
    const plan = ok(await patient.call('POST', `careplan/${id}/close`, told))
    assert.deepEqual([plan.status, plan.outcome, plan.achievementDate], ['COMPLETED', '128/82', '2026-05-01'])
    assert.deepEqual(plan.open, [
      { kind: 'GOAL', id: goalId, name: 'Walk' },
      { kind: 'TASK', id: taskId, name: 'Buy shoes' },
    ])
    assert.deepEqual(ok(await patient.call('GET', `careplan/${id}`)).goals[0].status, 'ACTIVE')
  })

  it('close what is open too, when asked', async () => {
    const { id } = await filled()
    const plan = ok(
      await patient.call('POST', `careplan/${id}/close`, { status: 'CANCELLED', closeOpen: true }),
    )
    assert.deepEqual(plan.open, [])
    const { goals } = ok(await patient.call('GET', `careplan/${id}`))
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

  it('refuse to be closed again, and to take goals and tasks', async () => {
    const { id, goalId } = await filled()
    ok(await patient.call('POST', `careplan/${id}/close`, {}))
    assert.deepEqual(refused(await patient.call('POST', `careplan/${id}/close`, {}), 422, 'rule-violated'), [
      'closed',
    ])
    for (const path of [`careplan/${id}/goal`, `careplan/${id}/goal/${goalId}/task`]) {
      const answer = await patient.call('POST', path, { name: 'x' })
      assert.deepEqual(refused(answer, 422, 'rule-violated'), ['closed'])
      assert.deepEqual(placesIn(answer), ['path.careplanId'])
    }
    refused(await patient.call('POST', `careplan/${id}/close`, { status: 'ACTIVE' }), 400, 'invalid-input')
  })

  it('by one of two who close at the same instant', async () => {
    for (let round = 0; round < 3; round++) {
      const { id } = await filled()
      const close = (status: string) =>
        patient.call('POST', `careplan/${id}/close`, { status, closeOpen: true })
      const answers = await Promise.all([close('COMPLETED'), close('CANCELLED'), close('COMPLETED')])
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 422, 422])
      const won = answers.find(({ status }) => status === 200)!.body.status
      const plan = ok(await patient.call('GET', `careplan/${id}`))
      assert.deepEqual([plan.status, plan.goals[0].status, plan.version], [won, won, 2])
    }
  })

  it('never with a goal that came in at the same instant', async () => {
    for (let round = 0; round < 5; round++) {
      const id = await newPlan(patient)
      const [added, closed] = await Promise.all([
        patient.call('POST', `careplan/${id}/goal`, { name: 'x' }),
        patient.call('POST', `careplan/${id}/close`, { closeOpen: true }),
      ])
      ok(closed!)
      const { goals } = ok(await patient.call('GET', `careplan/${id}`))
      assert.equal(goals.length, added!.status === 201 ? 1 : 0)
      for (const { status } of goals) assert.equal(status, 'COMPLETED')
      assert.ok(added!.status === 201 || added!.status === 422)
    }
  })

  it('while eight go on storing in it, who are told so from then on', async () => {
    const id = await newPlan(patient)
    let stored = 0
    const storing = async (from: number): Promise<void> => {
      for (let i = from; ; i += 8) {
        const timestamp = new Date(Date.UTC(2024, 0, 1, 0, i)).toISOString()
        const value = { carePlanId: id, timestamp, weight: 80, weightUnit: 'kg' }
        const answer = await patient.call('POST', 'procedure/bodyweight', value)
        if (answer.status === 201) stored += 1
        else return void assert.deepEqual(refused(answer, 422, 'rule-violated'), ['closed'])
      }
    }
    const all = Promise.all(Array.from({ length: 8 }, (_, from) => storing(from)))
    while (stored < 16) await new Promise(setImmediate)
    ok(await patient.call('POST', `careplan/${id}/close`, {}))
    await all
    const { page } = ok(await patient.call('GET', `procedure/bodyweight?carePlanId=${id}&count=true&limit=1`))
    assert.equal(page.total, stored)
  })

  it('take a turn also when a replacement closes them, so that nothing comes in meanwhile', async () => {
    const { id, goalId } = await filled()
    const turns = async (): Promise<unknown> =>
      (await service.db.collection<Kept>('ehr.turns').findOne({ _id: patient.ehrId }))?.turns
    for (const path of [`careplan/${id}/goal/${goalId}`, `careplan/${id}`]) {
      const before = Number(await turns())
      ok(await patient.call('PUT', path, { name: 'still open' }))
      assert.equal(await turns(), before)
      ok(await patient.call('PUT', path, { name: 'closed', status: 'COMPLETED' }))
      assert.equal(await turns(), before + 1)
      refused(await patient.call('PUT', path, { name: 'x', status: 'CANCELLED' }), 422, 'rule-violated')
      assert.equal(await turns(), before + 1)
    }
  })

  it('close thousands of tasks together, with a trace of each', async () => {
    const count = sized(12, 100)
    const id = await newPlan(patient)
    const goalId = await newGoal(patient, id)
    const taskId = await newTask(patient, id, goalId)
    const [goals, tasks] = [service.db.collection<Kept>('Goal'), service.db.collection<Kept>('Task')]
    const { _id: _g, ...goal } = (await goals.findOne({ _id: goalId }))!
    const { _id: _t, ...task } = (await tasks.findOne({ _id: taskId }))!
    const goalIds = Array.from({ length: count - 1 }, (_, i) => `${id}${i}`)
    await goals.insertMany(goalIds.map((_id) => ({ ...goal, _id })))
    const [, ...others] = [goalId, ...goalIds].flatMap((of) =>
      Array.from({ length: 100 }, (_, i) => ({ ...task, _id: `${of}t${i}`, goalId: of })),
    )
    await tasks.insertMany(others)

    const since = new Date()
    const plan = ok(await patient.call('POST', `careplan/${id}/close`, { closeOpen: true }))
    assert.deepEqual(plan.open, [])
    const parts = plan.goals.flatMap((goal: WithTasks) => [goal, ...goal.tasks])
    assert.equal(parts.length, 101 * count)
    for (const { status, version } of parts) assert.deepEqual([status, version], ['COMPLETED', 2])
    const audit = await auditOf(patient.ehrId, since)
    const entries = (line: string) => audit.filter((one) => one === line).length
    assert.equal(entries('update Goal done'), 1)
    assert.equal(entries('update Task done'), Math.ceil(count / 10))
    const last = goalIds.at(-1)
    const history = `careplan/${id}/goal/${last}/task/${last}t99/history`
    const { items } = ok(await patient.call('GET', history))
    assert.deepEqual([items[0].changed, items[0].before.status], [['status'], 'ACTIVE'])
  }).timeout(60_000)
})

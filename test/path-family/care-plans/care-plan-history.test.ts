import assert from 'node:assert/strict'
import { byClass } from '../../family-kinds.ts'
import {
  createGoal,
  createPatient,
  createPlan,
  createTask,
  type Patient,
} from '../../harness/care/patients.ts'
import { assertError } from '../../harness/clients/class-client.ts'
import { assertProblem, assertStatus } from '../../harness/clients/path-client.ts'
import { service } from '../../harness/service/service.ts'

describe('the history of care plans, goals and tasks', () => {
  let patient: Patient
  let paths: Record<'plan' | 'goal' | 'task', string>
  before(async () => {
    patient = await createPatient()
  })
  beforeEach(async () => {
    const planId = await createPlan(patient, { name: 'first', notes: 'old', language: 'en' })
    const goalId = await createGoal(patient, planId, { name: 'first', notes: 'old' })
    const taskId = await createTask(patient, planId, goalId, { name: 'first', notes: 'old' })
    const plan = `/med/${patient.ehrId}/careplan/${planId}`
    paths = { plan, goal: `${plan}/goal/${goalId}`, task: `${plan}/goal/${goalId}/task/${taskId}` }
  })

  for (const kind of ['plan', 'goal', 'task'] as const) {
    it(`shows who changed what in a ${kind}, and restores a version as a new one`, async () => {
      const path = paths[kind]
      assertStatus(await patient.call('PUT', path, { name: 'second', dueDate: '2026-06-01' }))
      assertStatus(await patient.call('POST', `${path}/close`, { outcome: 'x' }))
      const { items } = assertStatus(await patient.call('GET', `${path}/history`))
      assert.deepEqual(
        items.map(({ version, action, changed }: Record<string, unknown>) => [version, action, changed]),
        [
          [3, 'update', ['outcome', 'status']],
          [2, 'update', ['dueDate', 'name', 'notes']],
          [1, 'create', []],
        ],
      )
      const [, second, first] = items
      assert.deepEqual(
        [second.userId, second.application, second.before.name, second.before.notes],
        [patient.mvUid, 'path family', 'first', 'old'],
      )
      assert.equal(first.before, null)

      const restore = (version: number, headers = {}) =>
        patient.call('POST', `${path}/restore`, { version }, headers)
      assertProblem(await restore(1, { 'if-match': '"2"' }), 412, 'precondition-failed')
      const restored = assertStatus(await restore(1, { 'if-match': '"3"' }))
      assert.deepEqual(
        [restored.name, restored.notes, restored.dueDate, restored.status, restored.version],
        ['first', 'old', null, 'COMPLETED', 4],
      )
      assertProblem(await restore(9), 404, 'not-found')
      assertProblem(await restore(0), 400, 'invalid-input')
      const page = assertStatus(await patient.call('GET', `${path}/history?limit=3&count=true`))
      const rest = assertStatus(await patient.call('GET', `${path}/history?limit=3&cursor=${page.page.next}`))
      assert.deepEqual(
        [page.items.length, page.page.total, rest.items.length, rest.page.next],
        [3, 4, 1, null],
      )
    })
  }

  for (const [kind, collection] of [
    ['goal', 'Goal'],
    ['task', 'Task'],
  ] as const)
    it(`returns no ${kind} beyond the limit of 100`, async () => {
      const path = paths[kind]
      const id = path.split('/').at(-1) ?? ''
      const documents = service.db.collection<{ _id: string }>(collection)
      const stored = (await documents.findOne({ _id: id }))!
      const copies = Array.from({ length: 100 }, (_, i) => ({ ...stored, _id: `${id}${i}` }))
      await byClass(patient).delete(collection, id).expect(200)
      await documents.insertMany(copies)
      const restore = () => patient.call('POST', `${path}/restore`, { version: 1 })
      assert.deepEqual(assertProblem(await restore(), 422, 'rule-violated'), ['full'])
      assertError(await byClass(patient).get(collection, id), 101)
      await byClass(patient).delete(collection, `${id}0`).expect(200)
      assertStatus(await restore())
    })

  it("is found only at the record's own path", async () => {
    const other = await createPlan(patient)
    const [, , ehrId, , planId, , goalId, , taskId] = paths.task.split('/')
    for (const path of [
      `/med/${ehrId}/careplan/${other}/goal/${goalId}`,
      `/med/${ehrId}/careplan/${other}/goal/${goalId}/task/${taskId}`,
      `/med/${ehrId}/careplan/${planId}/goal/${other}/task/${taskId}`,
    ]) {
      assertProblem(await patient.call('GET', `${path}/history`), 404, 'not-found')
      assertProblem(await patient.call('POST', `${path}/restore`, { version: 1 }), 404, 'not-found')
    }
  })
})

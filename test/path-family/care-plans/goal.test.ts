import assert from 'node:assert/strict'
import {
  createGoal,
  createPatient,
  createPlan,
  createTask,
  type Patient,
} from '../../harness/care/patients.ts'
import { assertProblem, assertStatus } from '../../harness/clients/path-client.ts'

const full = { name: 'Walk', description: 'Daily', dueDate: '2026-06-01', notes: 'With the dog' }

describe('goals', () => {
  let patient: Patient
  let stranger: Patient
  let planId: string
  before(async () => {
    ;[patient, stranger] = await Promise.all([createPatient(), createPatient()])
    planId = await createPlan(patient)
  })
  const pathOf = (goalId = '', plan = planId) =>
    `/med/${patient.ehrId}/careplan/${plan}/goal${goalId && `/${goalId}`}`

  it('are added to a plan, and shown alone and in it', async () => {
    const added = await patient.call('POST', pathOf(), full)
    const { id, ...goal } = assertStatus(added, 201)
    const nothing = { achievementDate: null, outcome: null, status: 'ACTIVE', tasks: [] }
    assert.deepEqual(goal, { ...full, ...nothing, ehrId: patient.ehrId, carePlanId: planId, version: 1 })
    assert.equal(added.headers.get('location'), pathOf(id))
    const answer = await patient.call('GET', pathOf(id))
    assert.deepEqual([assertStatus(answer), answer.etag], [added.body, added.etag])
    assert.deepEqual(assertStatus(await patient.call('GET', `careplan/${planId}`)).goals, [added.body])
    assertProblem(
      await patient.call('POST', pathOf(), { name: 'x', tasks: [], dueDate: '2026-04-31' }),
      400,
      'invalid-input',
    )
  })

  it('are replaced at the version that the client knows', async () => {
    const id = await createGoal(patient, planId, full)
    const put = (body: object, headers = {}) =>
      patient.call('PUT', `careplan/${planId}/goal/${id}`, body, headers)
    const replaced = assertStatus(await put({ name: 'Run', outcome: 'Done' }, { 'if-match': '"1"' }))
    assert.deepEqual(
      [replaced.name, replaced.notes, replaced.outcome, replaced.version],
      ['Run', null, 'Done', 2],
    )
    const etag = (await put({ name: 'Run' }, { 'if-match': '"1"' })).etag
    assert.equal(etag, '"2"')
    const answers = await Promise.all([1, 2].map(() => put({ name: 'Swim' }, { 'if-match': etag })))
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 412])
    assertProblem(await put({ name: 'x', id: 'other' }), 400, 'id-mismatch')
    assertProblem(await put({ notes: 'no name' }), 400, 'invalid-input')
  })

  it('are closed permanently, with their tasks only on request', async () => {
    const close = (id: string, body: object) => patient.call('POST', `${pathOf(id)}/close`, body)
    const id = await createGoal(patient, planId)
    const taskId = await createTask(patient, planId, id)
    const closed = assertStatus(await close(id, { achievementDate: '2026-05-01' }))
    assert.deepEqual(
      [closed.status, closed.achievementDate, closed.tasks[0].status],
      ['COMPLETED', '2026-05-01', 'ACTIVE'],
    )
    assert.deepEqual(closed.open, [{ kind: 'TASK', id: taskId, name: 'Buy shoes' }])
    assert.deepEqual(assertProblem(await close(id, {}), 422, 'rule-violated'), ['closed'])
    assertProblem(await patient.call('POST', `${pathOf(id)}/task`, { name: 'x' }), 422, 'rule-violated')
    assertStatus(await patient.call('PUT', pathOf(id), { name: 'Still to be corrected' }))

    const other = await createGoal(patient, planId)
    await createTask(patient, planId, other)
    const closedGoal = assertStatus(await close(other, { status: 'CANCELLED', closeOpen: true }))
    assert.deepEqual([closedGoal.tasks[0].status, closedGoal.open], ['CANCELLED', []])
    const answers = await Promise.all(
      [await createGoal(patient, planId)].flatMap((id) => [close(id, {}), close(id, {})]),
    )
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 422])
  })

  it('are found only in their own plan of their own EHR', async () => {
    const id = await createGoal(patient, planId)
    const other = await createPlan(patient)
    const theirs = await createPlan(stranger)
    for (const path of [
      pathOf(id, other),
      pathOf('doesNotExist'),
      `/med/${stranger.ehrId}/careplan/${theirs}/goal/${id}`,
      `/med/${stranger.ehrId}/careplan/${planId}/goal/${id}`,
    ]) {
      for (const person of [patient, stranger]) {
        assertProblem(await person.call('GET', path), 404, 'not-found')
        assertProblem(await person.call('PUT', path, { name: 'x' }), 404, 'not-found')
        assertProblem(await person.call('POST', `${path}/close`, { closeOpen: true }), 404, 'not-found')
        assertProblem(await person.call('POST', `${path}/task`, { name: 'x' }), 404, 'not-found')
      }
    }
    assertProblem(
      await patient.call('POST', `/med/${patient.ehrId}/careplan/${theirs}/goal`, full),
      404,
      'not-found',
    )
    assertProblem(await stranger.call('GET', pathOf(id)), 404, 'not-found')
  })
})

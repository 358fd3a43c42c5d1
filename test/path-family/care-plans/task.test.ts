import assert from 'node:assert/strict'
import {
  addParticipant,
  createGoal,
  createPatient,
  createPlan,
  createTask,
  type Patient,
} from '../../harness/care/patients.ts'
import { assertProblem, assertStatus } from '../../harness/clients/path-client.ts'
import { placesOfViolations } from '../../harness/clients/violation-places.ts'
import { createPerson } from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'

const full = {
  name: 'Measure blood pressure',
  description: 'Sitting',
  dueDate: '2026-06-01',
  assignee: 'the practice nurse',
  priority: 'HIGH',
  repeat: { every: 1, period: 'WEEK' },
  notes: 'Left arm',
}

describe('tasks', () => {
  let patient: Patient
  let stranger: Patient
  let planId: string
  let goalId: string
  before(async () => {
    ;[patient, stranger] = await Promise.all([createPatient(), createPatient()])
    planId = await createPlan(patient)
    goalId = await createGoal(patient, planId)
  })
  const pathOf = (taskId = '', goal = goalId, plan = planId) =>
    `/med/${patient.ehrId}/careplan/${plan}/goal/${goal}/task${taskId && `/${taskId}`}`

  it('are added to a goal, replaced and closed', async () => {
    const added = await patient.call('POST', pathOf(), full)
    const { id, ...task } = assertStatus(added, 201)
    const place = { ehrId: patient.ehrId, carePlanId: planId, goalId }
    const nothing = { achievementDate: null, outcome: null, status: 'ACTIVE' }
    assert.deepEqual(task, { ...full, ...place, ...nothing, version: 1 })
    assert.equal(added.headers.get('location'), null, 'no GET shows a task')
    const replaced = assertStatus(
      await patient.call('PUT', pathOf(id), { name: 'Weigh', priority: 'LOW', repeat: null }),
    )
    assert.deepEqual(
      [replaced.name, replaced.priority, replaced.repeat, replaced.version],
      ['Weigh', 'LOW', null, 2],
    )
    assertProblem(
      await patient.call('PUT', pathOf(id), { name: 'x' }, { 'if-match': '"1"' }),
      412,
      'precondition-failed',
    )
    assertProblem(await patient.call('PUT', pathOf(id), { name: 'x', id: goalId }), 400, 'id-mismatch')
    const close = (body: object, headers = {}) => patient.call('POST', `${pathOf(id)}/close`, body, headers)
    assertProblem(await close({}, { 'if-match': '"1"' }), 412, 'precondition-failed')
    const answers = await Promise.all([close({ outcome: 'Done' }), close({ outcome: 'Done' })])
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 422])
    const { goals } = assertStatus(await patient.call('GET', `careplan/${planId}`))
    const [listedTask] = goals[0].tasks
    assert.deepEqual([listedTask.status, listedTask.outcome, listedTask.version], ['COMPLETED', 'Done', 3])
  })

  it('report all violations', async () => {
    const wrong = {
      ...full,
      priority: 'high',
      repeat: { every: 0, period: 'YEAR', until: '2027-01-01' },
      dueDate: 'soon',
      notes: 'x'.repeat(1001),
    }
    const answer = await patient.call('POST', pathOf(), wrong)
    assertProblem(answer, 400, 'invalid-input')
    const places = ['dueDate', 'notes', 'priority', 'repeat.every', 'repeat.period', 'repeat.until']
    assert.deepEqual(
      placesOfViolations(answer).sort(),
      places.map((place) => `body.${place}`),
    )
    const priorities = 'priority must be one of LOW, NORMAL, HIGH, null.'
    assert.ok(answer.body.errors.some(({ message }: { message: string }) => message === priorities))
  })

  it('reject an outcome that is too long when they are closed', async () => {
    const { id } = assertStatus(await patient.call('POST', pathOf(), full), 201)
    const close = (length: number) =>
      patient.call('POST', `${pathOf(id)}/close`, { outcome: 'x'.repeat(length) })
    const answer = await close(1001)
    assertProblem(answer, 400, 'invalid-input')
    assert.deepEqual(placesOfViolations(answer), ['body.outcome'])
    assertStatus(await close(1000))
  })

  it('are found only in their own goal', async () => {
    const id = await createTask(patient, planId, goalId)
    const otherGoal = await createGoal(patient, planId)
    const otherPlan = await createPlan(patient)
    for (const path of [pathOf(id, otherGoal), pathOf(id, goalId, otherPlan), pathOf('doesNotExist')]) {
      assertProblem(await patient.call('PUT', path, { name: 'x' }), 404, 'not-found')
      assertProblem(await patient.call('POST', `${path}/close`, {}), 404, 'not-found')
    }
    assertProblem(await stranger.call('PUT', pathOf(id), { name: 'x' }), 404, 'not-found')
    assertProblem(await patient.call('POST', pathOf('', goalId, otherPlan), { name: 'x' }), 404, 'not-found')
  })

  describe('when listed as to do', () => {
    let doer: Patient
    let plans: string[]
    const names = async (query = '', who: { call: Patient['call'] } = doer): Promise<string[]> =>
      assertStatus(await who.call('GET', `/ehr/${doer.ehrId}/careplan/todo${query}`)).items.map(
        ({ name }: { name: string }) => name,
      )

    before(async () => {
      doer = await createPatient()
      plans = [await createPlan(doer), await createPlan(doer)]
      const goals = [await createGoal(doer, plans[0]!), await createGoal(doer, plans[1]!)]
      for (const [plan, name, more] of [
        [0, 'undated', {}],
        [0, 'later', { dueDate: '2999-01-01', assignee: 'nurse' }],
        [1, 'overdue', { dueDate: '2020-01-02' }],
        [1, 'undated too', { assignee: 'nurse' }],
        [0, 'long overdue', { dueDate: '2019-12-31', assignee: 'nurse' }],
        [0, 'done', { dueDate: '2018-01-01' }],
      ] as const) {
        const id = await createTask(doer, plans[plan]!, goals[plan]!, { name, ...more })
        if (name === 'done')
          assertStatus(
            await doer.call('POST', `careplan/${plans[plan]}/goal/${goals[plan]}/task/${id}/close`, {}),
          )
      }
    })

    it('come overdue first, undated last', async () => {
      const sorted = await names()
      assert.deepEqual(sorted.slice(0, 3), ['long overdue', 'overdue', 'later'])
      assert.deepEqual(sorted.slice(3).sort(), ['undated', 'undated too'])
    })

    it('come in pages of any size', async () => {
      const allNames = await names()
      for (const limit of [1, 2, 3, 4, 5]) {
        const paged: string[] = []
        let cursor: string | null = ''
        while (cursor !== null) {
          const query: string = `careplan/todo?limit=${limit}&count=true${cursor && `&cursor=${cursor}`}`
          const { items, page } = assertStatus(await doer.call('GET', query))
          assert.equal(page.total, 5)
          assert.ok(items.length <= limit)
          paged.push(...items.map(({ name }: { name: string }) => name))
          cursor = page.next
        }
        assert.deepEqual(paged, allNames)
      }
    })

    it('are filtered by assignee, plan and due date', async () => {
      assert.deepEqual(await names('?assignee=nurse'), ['long overdue', 'later', 'undated too'])
      assert.deepEqual(await names(`?carePlanId=${plans[1]}`), ['overdue', 'undated too'])
      assert.deepEqual(await names('?dueBefore=2020-01-02'), ['long overdue'])
      assert.deepEqual(await names('?dueBefore=2020-01-03&assignee=nobody'), [])
      assertProblem(await doer.call('GET', 'careplan/todo?dueBefore=tomorrow'), 400, 'invalid-input')
    })

    it('are those of the plans that the caller may see', async () => {
      const nurse = await createPerson()
      assertProblem(await nurse.call('GET', `/ehr/${doer.ehrId}/careplan/todo`), 404, 'not-found')
      await addParticipant(plans[1]!, nurse, 'read')
      assert.deepEqual(await names('', nurse), ['overdue', 'undated too'])
    })

    it('are found by an index', async () => {
      for (const dueDate of [{ $gte: new Date(0) }, { $eq: null }]) {
        const filter = { ehrId: doer.ehrId, status: 'ACTIVE', dueDate, _rperm: { $in: ['*', doer.mvUid] } }
        const plan = await service.db.collection('Task').find(filter).sort({ dueDate: 1, _id: 1 }).explain()
        assert.match(JSON.stringify(plan.queryPlanner.winningPlan), /list_byDueDate/)
        assert.doesNotMatch(JSON.stringify(plan.queryPlanner.winningPlan), /COLLSCAN/)
      }
    })
  })
})

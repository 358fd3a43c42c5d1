import assert from 'node:assert/strict'
import type { Document } from 'mongodb'
import { CarePlans } from '../../../../records/care-plans/care-plans.ts'
import { CarePlanTemplates } from '../../../../records/care-plans/templates/care-plan-templates.ts'
import { BATCH_LIMITS } from '../../../../records/store/batching/transaction-batches.ts'
import { newId } from '../../../../records/store/documents/ids.ts'
import { jobCollection } from '../../../../records/store/jobs/background-jobs.ts'
import { createPatient } from '../../../harness/care/patients.ts'
import { assertError, createClassClient } from '../../../harness/clients/class-client.ts'
import { assertProblem, assertStatus } from '../../../harness/clients/path-client.ts'
import { recordTransactions } from '../../../harness/service/database-commands.ts'
import { service } from '../../../harness/service/service.ts'
import { bySize } from '../../../harness/test-size.ts'
import { waitUntil } from '../../../harness/wait.ts'
import {
  audited,
  callerOf,
  completed,
  heldUp,
  isAnswered,
  isSound,
  largePlan,
  retryWhileUnavailable,
  sceneOfBlock,
  statuses,
  sum,
  takenOver,
  unfilteredCollection,
} from './interrupted.ts'

describe('plans, in several transactions', function suite() {
  this.timeout(bySize(60_000, 300_000))
  const scene = sceneOfBlock()

  describe('a large plan', () => {
    it('closes with its open records in batches, while others work in it', async () => {
      const { owner, path, planId, goalId, taskId, tasks, goals } = await largePlan(
        scene.nurse,
        bySize(11, 100),
      )
      const task = `${path}/goal/${goalId}/task/${taskId}`
      const closing = owner.call('POST', `${path}/close`, { closeOpen: true, outcome: 'Done' })
      let closed = false
      void closing.finally(() => {
        closed = true
      })
      let writes = 0
      while (!closed && writes < 10) {
        const { status } = await owner.call('PUT', task, { name: `Changed ${writes++}` })
        assert.ok([200, 503].includes(status), String(status))
      }
      await completed(closing, owner)
      const { status, body: plan } = await closing
      if (status === 200)
        assert.deepEqual([plan.status, plan.open, plan.goals.length], ['COMPLETED', [], goals])
      assert.equal((await unfilteredCollection('CarePlan').findOne({ _id: planId }))?.status, 'COMPLETED')
      assert.equal(await statuses('Task', planId), 'COMPLETED')
      assert.equal(await statuses('Goal', planId), 'COMPLETED')
      const steps = (await audited(owner.ehrId, 'update', 'Task')).filter((ids) => ids > 1)
      assert.deepEqual(
        [sum(steps), Math.max(...steps), steps.length],
        [tasks, BATCH_LIMITS.maxDocuments, Math.ceil(tasks / BATCH_LIMITS.maxDocuments)],
      )
      const changes = {
        _id: { $gte: `${owner.ehrId}/Task/`, $lt: `${owner.ehrId}/Task0` },
        changed: ['status'],
      }
      assert.equal(await unfilteredCollection('history.changes').countDocuments(changes as object), tasks)
      await isSound()
    })

    it('is closed by another instance if the process is killed, and hidden until then', async () => {
      const { owner, path, planId, goalId, taskId, tasks } = await largePlan(scene.nurse)
      const plans = new CarePlans(scene.dying, async () => {}, new CarePlanTemplates([]))
      const closing = { closeOpen: true }
      const key = { id: planId, ehrId: owner.ehrId }
      await assert.rejects(plans.close(callerOf(owner), key, closing, { expected: [1] }), /unavailable/)
      assert.equal(await statuses('Task', planId), 'ACTIVE')
      const work = { id: planId }
      await heldUp(planId)
      // By now this instance has received the change.
      const goal = `/med/${owner.ehrId}/careplan/${planId}/goal/${goalId}`
      await waitUntil(async () => !(await isAnswered(owner.call('GET', goal))))

      assertProblem(await scene.stranger.call('GET', path), 404, 'not-found')
      assertProblem(await scene.stranger.call('GET', `/ehr/${owner.ehrId}/careplan/todo`), 404, 'not-found')
      assertError(await createClassClient(scene.stranger).get('Task', taskId), 101)
      assertProblem(await owner.call('POST', `${path}/goal`, { name: 'Late' }), 422, 'rule-violated')
      assertProblem(
        await owner.call('PUT', path, { name: 'x' }, { 'if-match': '"1"' }),
        412,
        'precondition-failed',
      )
      const waiting = [
        retryWhileUnavailable(() => owner.call('GET', path)),
        retryWhileUnavailable(() => scene.nurse.call('GET', path)),
        retryWhileUnavailable(() => scene.nurse.call('GET', `/ehr/${owner.ehrId}/careplan/todo`)),
        owner.call('POST', `${path}/close`, closing, { 'idempotency-key': newId() }),
      ]
      const open = { carePlanId: planId, status: 'ACTIVE' }
      const countAnswer = retryWhileUnavailable(async () =>
        createClassClient(scene.nurse).list('Task', open).query({ count: 1 }),
      )
      await takenOver()
      const [plan, nurses, todo, second] = await Promise.all(waiting)
      assert.equal((await countAnswer).body.count, 0)
      for (const answer of [plan, nurses])
        for (const goal of assertStatus(answer as never).goals)
          for (const one of [goal, ...goal.tasks]) assert.equal(one.status, 'COMPLETED')
      assert.deepEqual(assertStatus(todo as never).items, [])
      assertProblem(second as never, 422, 'rule-violated')
      assert.equal(sum(await audited(owner.ehrId, 'update', 'Task')), tasks)
      assert.equal(await jobCollection(service).countDocuments(work), 0)
      await isSound()
    })

    it('is deleted by the class family with all its records, and returns with them', async () => {
      const { owner, path, planId, taskId } = await largePlan(scene.nurse)
      await createClassClient(owner).delete('CarePlan', planId).expect(200)
      assertProblem(await owner.call('GET', path), 404, 'not-found')
      assertError(await createClassClient(owner).get('Task', taskId), 101)
      const visible = { carePlanId: planId, _rperm: { $not: /^removed-/ } }
      await waitUntil(async () => (await unfilteredCollection('Task').countDocuments(visible)) === 0)
      await waitUntil(async () => (await jobCollection(service).countDocuments({ id: planId })) === 0)
      assertStatus(await owner.call('POST', `${path}/restore`, { version: 1 }))
      await waitUntil(async () => (await jobCollection(service).countDocuments({ id: planId })) === 0)
      await createClassClient(owner).get('Task', taskId).expect(200)
      assert.equal(
        await unfilteredCollection('Task').countDocuments(visible),
        await unfilteredCollection('Task').countDocuments({ carePlanId: planId }),
      )
    })
  })

  describe('a plan from a template', () => {
    let former: number
    before(() => {
      former = BATCH_LIMITS.maxDocuments
      BATCH_LIMITS.maxDocuments = 4
    })
    after(() => {
      BATCH_LIMITS.maxDocuments = former
    })

    it('becomes visible when it is complete, and another instance completes it if the first was killed', async () => {
      const owner = await createPatient()
      const body = { participants: [{ mvUid: scene.nurse.mvUid, access: 'READ' }] }
      const plan = assertStatus(await owner.call('POST', 'careplan/template/asthma', body), 201)
      const path = `/ehr/${owner.ehrId}/careplan/${plan.id}`
      const members = plan.goals.flatMap(({ tasks }: Document) => tasks)
      assert.deepEqual(assertStatus(await scene.nurse.call('GET', path)).goals, plan.goals)
      assert.ok((await audited(owner.ehrId, 'create', 'Task')).every((ids) => ids <= 4))

      // Restores the state before the last steps.
      await unfilteredCollection('Task').deleteMany({
        _id: { $in: members.slice(3).map(({ id }: Document) => id) },
      })
      const today = new Date().toISOString().slice(0, 10)
      await jobCollection(service).insertOne({
        _id: `carePlanId$${plan.id}`,
        job: 'fill',
        field: 'carePlanId',
        id: plan.id,
        ehrId: owner.ehrId,
        by: callerOf(owner),
        hidesPlan: true,
        details: { templateId: 'asthma', use: {}, today, invited: [] },
        leaseUntil: new Date(Date.now() + 60_000),
      })
      await waitUntil(async () => (await owner.call('GET', path)).status === 404)
      for (const person of [owner, scene.nurse, scene.stranger]) {
        assertProblem(await person.call('GET', path), 404, 'not-found')
        assertProblem(await person.call('POST', `${path}/goal`, { name: 'x' }), 404, 'not-found')
        assertError(await createClassClient(person).get('Goal', plan.goals[0].id), 101)
        assert.equal(
          (await createClassClient(person).list('Task', { carePlanId: plan.id })).body.results.length,
          0,
        )
      }
      await takenOver()
      await waitUntil(async () => (await scene.nurse.call('GET', path)).status === 200)
      const ids = ({ goals }: Document) =>
        goals
          .flatMap(({ id, tasks }: Document) => [id, ...tasks.map((task: Document) => task.id).sort()])
          .sort()
      assert.deepEqual(ids(assertStatus(await scene.nurse.call('GET', path))), ids(plan))
      await isSound()
    })
  })

  it('never writes more in one transaction than its limit', async () => {
    const { owner, path, planId, tasks } = await largePlan(scene.nurse, bySize(4, 100))
    const { ehrId } = owner
    const works: [what: string, collection: string, work: () => PromiseLike<{ status: number }>][] = [
      ['closing', 'history.changes', () => owner.call('POST', `${path}/close`, { closeOpen: true })],
      ['removing', 'Task', () => owner.call('DELETE', `/med/ehr/${ehrId}`)],
      ['restoring', 'Task', () => scene.admin.call('POST', `/med/ehr/${ehrId}/restore`)],
      ['deleting', 'Task', () => createClassClient(owner).delete('CarePlan', planId)],
    ]
    for (const [what, collection, work] of works) {
      const transactions = await recordTransactions(() => completed(work(), owner))
      const transactionText = JSON.stringify(transactions)
      const most = (of: (documents: Record<string, number>) => number) =>
        Math.max(...transactions.map(({ documents }) => of(documents)))
      // Limits both records and history. A few more writes belong to the job and to the root record.
      assert.ok(
        most((documents) => documents.Task ?? 0) <= BATCH_LIMITS.maxDocuments,
        `${what}: ${transactionText}`,
      )
      assert.ok(
        most((documents) => sum(Object.values(documents))) <= 2 * BATCH_LIMITS.maxDocuments + 20,
        `${what}: ${transactionText}`,
      )
      assert.ok(
        Math.max(...transactions.map(({ commands }) => commands)) <= 20,
        `${what}: ${transactionText}`,
      )
      const writeCount = sum(transactions.map(({ documents }) => documents[collection] ?? 0))
      assert.ok(writeCount >= tasks, `${what}: ${transactionText}`)
    }
  })
})

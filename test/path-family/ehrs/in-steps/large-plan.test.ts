import assert from 'node:assert/strict'
import type { Document } from 'mongodb'
import { CarePlans } from '../../../../records/care-plans/care-plans.ts'
import { CarePlanTemplates } from '../../../../records/care-plans/templates/templates.ts'
import { sweepAgreements } from '../../../../records/ehrs/agreement.ts'
import { Ehrs } from '../../../../records/ehrs/ehrs.ts'
import { contents } from '../../../../records/kinds.ts'
import { STEP } from '../../../../records/store/batching/steps.ts'
import { newId } from '../../../../records/store/documents/ids.ts'
import { worksOf } from '../../../../records/store/steps/under-way.ts'
import { newPatient } from '../../../harness/care/patients.ts'
import { assertError, classesOf } from '../../../harness/clients/class-client.ts'
import { ok, refused } from '../../../harness/clients/path-client.ts'
import { transactionsOf } from '../../../harness/service/database-commands.ts'
import { service } from '../../../harness/service/service.ts'
import { sized } from '../../../harness/size.ts'
import { until } from '../../../harness/until.ts'
import {
  answered,
  audited,
  callerOf,
  heldUp,
  isAnswered,
  isSound,
  kept,
  largePlan,
  sceneOfBlock,
  statuses,
  sum,
  takenOver,
} from './interrupted.ts'

describe('plans, in several transactions', function suite() {
  this.timeout(60_000)
  const scene = sceneOfBlock()

  describe('a large plan', () => {
    it('closes with all that is open in it, some at a time, while others work in it', async () => {
      const { owner, path, planId, goalId, taskId, tasks, goals } = await largePlan(
        scene.nurse,
        sized(11, 100),
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
      const plan = ok(await closing)
      assert.deepEqual([plan.status, plan.open, plan.goals.length], ['COMPLETED', [], goals])
      assert.equal(await statuses('Task', planId), 'COMPLETED')
      assert.equal(await statuses('Goal', planId), 'COMPLETED')
      const steps = (await audited(owner.ehrId, 'update', 'Task')).filter((ids) => ids > 1)
      assert.deepEqual(
        [sum(steps), Math.max(...steps), steps.length],
        [tasks, STEP.documents, Math.ceil(tasks / STEP.documents)],
      )
      const changes = {
        _id: { $gte: `${owner.ehrId}/Task/`, $lt: `${owner.ehrId}/Task0` },
        changed: ['status'],
      }
      assert.equal(await kept('history.changes').countDocuments(changes as object), tasks)
      await isSound()
    })

    it('that was being closed when the process was killed is closed by another, and seen by nobody until then', async () => {
      const { owner, path, planId, goalId, taskId, tasks } = await largePlan(scene.nurse)
      const plans = new CarePlans(
        scene.dying,
        new Ehrs(scene.dying),
        async () => {},
        new CarePlanTemplates([]),
      )
      const closing = { closeOpen: true }
      const key = { id: planId, ehrId: owner.ehrId }
      await assert.rejects(plans.close(callerOf(owner), key, closing, { expected: [1] }), /unavailable/)
      assert.equal(await statuses('Task', planId), 'ACTIVE')
      const work = { id: planId }
      await heldUp(planId)
      // By then this instance has heard of it.
      const goal = `/med/${owner.ehrId}/careplan/${planId}/goal/${goalId}`
      await until(async () => !(await isAnswered(owner.call('GET', goal))))

      refused(await scene.stranger.call('GET', path), 404, 'not-found')
      refused(await scene.stranger.call('GET', `/ehr/${owner.ehrId}/careplan/todo`), 404, 'not-found')
      assertError(await classesOf(scene.stranger).get('Task', taskId), 101)
      refused(await owner.call('POST', `${path}/goal`, { name: 'Late' }), 422, 'rule-violated')
      refused(await owner.call('PUT', path, { name: 'x' }, { 'if-match': '"1"' }), 412, 'precondition-failed')
      const waiting = [
        answered(() => owner.call('GET', path)),
        answered(() => scene.nurse.call('GET', path)),
        answered(() => scene.nurse.call('GET', `/ehr/${owner.ehrId}/careplan/todo`)),
        owner.call('POST', `${path}/close`, closing, { 'idempotency-key': newId() }),
      ]
      const open = { carePlanId: planId, status: 'ACTIVE' }
      const counted = answered(async () => classesOf(scene.nurse).list('Task', open).query({ count: 1 }))
      await takenOver()
      const [plan, nurses, todo, again] = await Promise.all(waiting)
      assert.equal((await counted).body.count, 0)
      for (const answer of [plan, nurses])
        for (const goal of ok(answer as never).goals)
          for (const one of [goal, ...goal.tasks]) assert.equal(one.status, 'COMPLETED')
      assert.deepEqual(ok(todo as never).items, [])
      refused(again as never, 422, 'rule-violated')
      assert.equal(sum(await audited(owner.ehrId, 'update', 'Task')), tasks)
      assert.equal(await worksOf(service).countDocuments(work), 0)
      await isSound()
    })

    it('is deleted by the class family with all that is in it', async () => {
      const { owner, path, planId, taskId } = await largePlan(scene.nurse)
      await classesOf(owner).delete('CarePlan', planId).expect(200)
      refused(await owner.call('GET', path), 404, 'not-found')
      assertError(await classesOf(owner).get('Task', taskId), 101)
      await until(async () => (await kept('Task').countDocuments({ carePlanId: planId })) === 0)
      await until(async () => (await worksOf(service).countDocuments({ id: planId })) === 0)
    })
  })

  describe('a plan from a template', () => {
    let former: number
    before(() => {
      former = STEP.documents
      STEP.documents = 4
    })
    after(() => {
      STEP.documents = former
    })

    it('is seen when it is whole, and filled by another instance when the first was killed', async () => {
      const owner = await newPatient()
      const body = { participants: [{ mvUid: scene.nurse.mvUid, access: 'READ' }] }
      const plan = ok(await owner.call('POST', 'careplan/template/asthma', body), 201)
      const path = `/ehr/${owner.ehrId}/careplan/${plan.id}`
      const members = plan.goals.flatMap(({ tasks }: Document) => tasks)
      assert.deepEqual(ok(await scene.nurse.call('GET', path)).goals, plan.goals)
      assert.ok((await audited(owner.ehrId, 'create', 'Task')).every((ids) => ids <= 4))

      // As it was before the last steps.
      await kept('Task').deleteMany({ _id: { $in: members.slice(3).map(({ id }: Document) => id) } })
      const today = new Date().toISOString().slice(0, 10)
      await worksOf(service).insertOne({
        ...{ _id: `carePlanId$${plan.id}`, job: 'fill', field: 'carePlanId', id: plan.id },
        ...{ ehrId: owner.ehrId, by: callerOf(owner), hidesPlan: true },
        ...{
          details: { templateId: 'asthma', use: {}, today, invited: [] },
          leaseUntil: new Date(Date.now() + 60_000),
        },
      })
      await until(async () => (await owner.call('GET', path)).status === 404)
      for (const person of [owner, scene.nurse, scene.stranger]) {
        refused(await person.call('GET', path), 404, 'not-found')
        refused(await person.call('POST', `${path}/goal`, { name: 'x' }), 404, 'not-found')
        assertError(await classesOf(person).get('Goal', plan.goals[0].id), 101)
        assert.equal((await classesOf(person).list('Task', { carePlanId: plan.id })).body.results.length, 0)
      }
      await takenOver()
      await until(async () => (await scene.nurse.call('GET', path)).status === 200)
      const ids = ({ goals }: Document) =>
        goals
          .flatMap(({ id, tasks }: Document) => [id, ...tasks.map((task: Document) => task.id).sort()])
          .sort()
      assert.deepEqual(ids(ok(await scene.nurse.call('GET', path))), ids(plan))
      await isSound()
    })
  })

  it('writes no more in any of them than fits, whatever is done', async () => {
    const { owner, path, planId, tasks } = await largePlan(scene.nurse, sized(4, 100))
    const { ehrId } = owner
    // The service does so by itself a minute after somebody agreed to an EHR: it must not come in between.
    await sweepAgreements({ ...service, contents }, new Date(Date.now() + 61_000))
    const isGone = async () => (await worksOf(service).countDocuments({ ehrId })) === 0
    const works: [what: string, collection: string, work: () => Promise<unknown>][] = [
      [
        'closing',
        'history.changes',
        async () => ok(await owner.call('POST', `${path}/close`, { closeOpen: true })),
      ],
      ['removing', 'Task', async () => ok(await owner.call('DELETE', `/med/ehr/${ehrId}`), 204)],
      ['restoring', 'Task', async () => ok(await scene.admin.call('POST', `/med/ehr/${ehrId}/restore`))],
      ['deleting', 'Task', async () => classesOf(owner).delete('CarePlan', planId).expect(200)],
    ]
    for (const [what, collection, work] of works) {
      const transactions = await transactionsOf(async () => {
        await work()
        await until(isGone)
      })
      const all = JSON.stringify(transactions)
      const most = (of: (documents: Record<string, number>) => number) =>
        Math.max(...transactions.map(({ documents }) => of(documents)))
      // Of the records, and of their history; a few more are the step's own and the root's.
      assert.ok(most((documents) => documents.Task ?? 0) <= STEP.documents, `${what}: ${all}`)
      assert.ok(
        most((documents) => sum(Object.values(documents))) <= 2 * STEP.documents + 20,
        `${what}: ${all}`,
      )
      assert.ok(Math.max(...transactions.map(({ commands }) => commands)) <= 20, `${what}: ${all}`)
      const written = sum(transactions.map(({ documents }) => documents[collection] ?? 0))
      assert.ok(written >= tasks, `${what}: ${all}`)
    }
  })
})

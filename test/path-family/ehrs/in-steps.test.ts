import assert from 'node:assert/strict'
import { LRUCache } from 'lru-cache'
import type { Document } from 'mongodb'
import { CarePlans } from '../../../records/care-plans/care-plans.ts'
import { CarePlanTemplates } from '../../../records/care-plans/templates/templates.ts'
import { Ehrs } from '../../../records/ehrs/ehrs.ts'
import { contents } from '../../../records/kinds.ts'
import { type Audit, openAudit } from '../../../records/store/audit/trail.ts'
import { verifyAudit } from '../../../records/store/audit/verifier.ts'
import { STEP } from '../../../records/store/batching/steps.ts'
import type { Caller } from '../../../records/store/documents/caller.ts'
import { newId } from '../../../records/store/documents/ids.ts'
import { worksOf } from '../../../records/store/steps/under-way.ts'
import { RecentRemovals } from '../../../records/store/writing/removal/recent-removals.ts'
import type { Records } from '../../../records/store/writing/transaction.ts'
import { letIn, newGoal, newPatient, newPlan, newTask, type Patient } from '../../harness/care/patients.ts'
import { assertError, classesOf } from '../../harness/clients/class-client.ts'
import { type Answer, ok, refused } from '../../harness/clients/path-client.ts'
import { newAdmin, newPerson, type Person } from '../../harness/people/people.ts'
import { transactionsOf } from '../../harness/service/database-commands.ts'
import { config, service } from '../../harness/service/service.ts'
import { sized } from '../../harness/size.ts'
import { found, until } from '../../harness/until.ts'

type Kept = Document & { _id: string }

/** Everything, also what is hidden. */
const kept = (name: string) => service.client.db(service.db.databaseName).collection<Kept>(name)

describe('what takes several transactions', function suite() {
  this.timeout(60_000)
  let stranger: Person
  let admin: Person
  let nurse: Person
  let audit: Audit
  let dying: Records

  const usual = STEP.documents
  before(async () => {
    STEP.documents = sized(100, usual)
    ;[stranger, admin, nurse] = await Promise.all([newPerson(), newAdmin(), newPerson()])
    const { client, db } = service
    const clock = () => new Date()
    audit = await openAudit({ db, key: config.auditKey, clock, onFault: () => {} })
    // An instance that is killed as soon as the first transaction has been committed.
    const all = client.db(db.databaseName)
    const underWay = { db: all, begin: () => {}, done: async () => false } as unknown as Records['underWay']
    const recentRemovals = new RecentRemovals()
    const tellOfPendingEhr = async () => {}
    const definitions = new LRUCache<string, object>({ max: 10 })
    dying = { client, db, clock, audit, contents, underWay, recentRemovals, definitions, tellOfPendingEhr }
  })
  after(async () => {
    STEP.documents = usual
    await audit.close()
  })

  /** A plan with goals of 100 tasks each; the tasks but the first are put there as they would be. */
  async function largePlan(goals = sized(2, 11)) {
    const owner = await newPatient()
    const planId = await newPlan(owner)
    await letIn(planId, nurse, 'read')
    const goalId = await newGoal(owner, planId)
    const taskId = await newTask(owner, planId, goalId)
    const [goal, task] = [await kept('Goal').findOne({}), await kept('Task').findOne({ _id: taskId })]
    const ofPlan = { ...(await kept('Goal').findOne({ _id: goalId })) }
    assert.ok(goal && task)
    const goalIds = [goalId, ...Array.from({ length: goals - 1 }, newId)]
    await kept('Goal').insertMany(goalIds.slice(1).map((_id) => ({ ...ofPlan, _id })))
    await kept('Task').insertMany(
      goalIds.flatMap((goalId, i) =>
        Array.from({ length: i === 0 ? 99 : 100 }, () => ({ ...task, _id: newId(), goalId })),
      ),
    )
    const tasks = 100 * goals
    return { owner, planId, goalId, taskId, goals, tasks, path: `/ehr/${owner.ehrId}/careplan/${planId}` }
  }

  const callerOf = ({ mvUid }: Person): Caller => ({
    ...{ userId: mvUid, roles: [], application: 'tests', requestId: 'killed' },
  })

  const statuses = async (name: string, carePlanId: string) =>
    (await kept(name).distinct('status', { carePlanId })).join()

  /** How many records each entry of the audit names. */
  const audited = async (ehrId: string, action: string, type: string): Promise<number[]> =>
    (await kept('audit.entries').find({ ehrId, action, type, outcome: 'done' }).toArray()).map(
      ({ ids }) => ids.length,
    )

  const sum = (numbers: number[]) => numbers.reduce((total, one) => total + one, 0)

  /** Lets the time pass after which another instance goes on. */
  const takenOver = () => worksOf(service).updateMany({}, { $set: { leaseUntil: new Date(0) } })

  /** Nobody goes on with it before {@link takenOver}. */
  async function heldUp(id: string): Promise<void> {
    const later = { $set: { leaseUntil: new Date(Date.now() + 60_000) } }
    assert.equal((await worksOf(service).updateOne({ id }, later)).matchedCount, 1)
  }

  const isSound = async () => assert.equal((await verifyAudit(service.db, config.auditKey)).broken, null)

  describe('a large plan', () => {
    it('closes with all that is open in it, some at a time, while others work in it', async () => {
      const { owner, path, planId, goalId, taskId, tasks, goals } = await largePlan(sized(11, 100))
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
      const { owner, path, planId, goalId, taskId, tasks } = await largePlan()
      const plans = new CarePlans(dying, new Ehrs(dying), async () => {}, new CarePlanTemplates([]))
      const closing = { closeOpen: true }
      const key = { id: planId, ehrId: owner.ehrId }
      await assert.rejects(plans.close(callerOf(owner), key, closing, { expected: [1] }), /unavailable/)
      assert.equal(await statuses('Task', planId), 'ACTIVE')
      const work = { id: planId }
      await heldUp(planId)
      // By then this instance has heard of it.
      const goal = `/med/${owner.ehrId}/careplan/${planId}/goal/${goalId}`
      await until(async () => !(await isAnswered(owner.call('GET', goal))))

      refused(await stranger.call('GET', path), 404, 'not-found')
      refused(await stranger.call('GET', `/ehr/${owner.ehrId}/careplan/todo`), 404, 'not-found')
      assertError(await classesOf(stranger).get('Task', taskId), 101)
      refused(await owner.call('POST', `${path}/goal`, { name: 'Late' }), 422, 'rule-violated')
      refused(await owner.call('PUT', path, { name: 'x' }, { 'if-match': '"1"' }), 412, 'precondition-failed')
      const waiting = [
        answered(() => owner.call('GET', path)),
        answered(() => nurse.call('GET', path)),
        answered(() => nurse.call('GET', `/ehr/${owner.ehrId}/careplan/todo`)),
        owner.call('POST', `${path}/close`, closing, { 'idempotency-key': newId() }),
      ]
      const open = { carePlanId: planId, status: 'ACTIVE' }
      const counted = answered(async () => classesOf(nurse).list('Task', open).query({ count: 1 }))
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
      const { owner, path, planId, taskId } = await largePlan()
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
      const body = { participants: [{ mvUid: nurse.mvUid, access: 'READ' }] }
      const plan = ok(await owner.call('POST', 'careplan/template/asthma', body), 201)
      const path = `/ehr/${owner.ehrId}/careplan/${plan.id}`
      const members = plan.goals.flatMap(({ tasks }: Document) => tasks)
      assert.deepEqual(ok(await nurse.call('GET', path)).goals, plan.goals)
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
      for (const person of [owner, nurse, stranger]) {
        refused(await person.call('GET', path), 404, 'not-found')
        refused(await person.call('POST', `${path}/goal`, { name: 'x' }), 404, 'not-found')
        assertError(await classesOf(person).get('Goal', plan.goals[0].id), 101)
        assert.equal((await classesOf(person).list('Task', { carePlanId: plan.id })).body.results.length, 0)
      }
      await takenOver()
      await until(async () => (await nurse.call('GET', path)).status === 200)
      const ids = ({ goals }: Document) =>
        goals
          .flatMap(({ id, tasks }: Document) => [id, ...tasks.map((task: Document) => task.id).sort()])
          .sort()
      assert.deepEqual(ids(ok(await nurse.call('GET', path))), ids(plan))
      await isSound()
    })
  })

  it('writes no more in any of them than fits, whatever is done', async () => {
    const { owner, path, planId, tasks } = await largePlan(sized(4, 100))
    const { ehrId } = owner
    const isGone = async () => (await worksOf(service).countDocuments({ ehrId })) === 0
    const works: [what: string, collection: string, work: () => Promise<unknown>][] = [
      [
        'closing',
        'history.changes',
        async () => ok(await owner.call('POST', `${path}/close`, { closeOpen: true })),
      ],
      ['removing', 'Task', async () => ok(await owner.call('DELETE', `/med/ehr/${ehrId}`), 204)],
      ['restoring', 'Task', async () => ok(await admin.call('POST', `/med/ehr/${ehrId}/restore`))],
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

  describe('a large EHR', () => {
    const seenBy = async (person: Person, { ehrId }: Patient, planId: string) => {
      const task = classesOf(person).list('Task', { carePlanId: planId }).query({ count: 1, limit: 0 })
      const answers = await Promise.all([
        person.call('GET', `/ehr/${ehrId}/careplan/${planId}`),
        person.call('GET', `/ehr/${ehrId}/careplan/todo?limit=1`),
        person.call('GET', `/ehr/${ehrId}/summary/timeline?limit=1`),
      ])
      return [...answers.map(({ status }) => status), (await task).body.count].join()
    }

    it('is gone for everybody at once, and comes back as it was', async () => {
      const { owner, planId, path, tasks } = await largePlan()
      const before = ok(await nurse.call('GET', path))
      const permissions = await kept('Task').findOne({ carePlanId: planId })
      ok(await owner.call('DELETE', `/med/ehr/${owner.ehrId}`), 204)
      for (const person of [owner, nurse, stranger, admin])
        assert.equal(await seenBy(person, owner, planId), '404,404,404,0')
      await until(async () => (await worksOf(service).countDocuments({ id: owner.ehrId })) === 0)
      const hidden = { carePlanId: planId, _rperm: /^removed:/ }
      assert.equal(await kept('Task').countDocuments(hidden), tasks)
      ok(await admin.call('POST', `/med/ehr/${owner.ehrId}/restore`))
      assert.deepEqual(ok(await nurse.call('GET', path)), before)
      assert.deepEqual(await kept('Task').findOne({ _id: permissions?._id ?? '' }), permissions)
      assert.equal(await seenBy(owner, owner, planId), `200,200,200,${tasks}`)
      await isSound()
    })

    it('stays gone when the process is killed between two steps, and comes back even then', async () => {
      const { owner, planId, tasks, path } = await largePlan()
      const { ehrId } = owner
      const ehrs = new Ehrs(dying)
      await ehrs.remove(callerOf(owner), ehrId, undefined)
      await heldUp(ehrId)
      assert.equal(await kept('Task').countDocuments({ ehrId, _rperm: /^removed:/ }), 0)
      await until(async () => (await seenBy(owner, owner, planId)) === '404,404,404,0')
      for (const person of [nurse, stranger])
        assert.equal(await seenBy(person, owner, planId), '404,404,404,0')
      refused(await owner.call('PUT', path, { name: 'x' }, { 'if-match': '"1"' }), 404, 'not-found')
      refused(await owner.call('POST', `/med/ehr/${ehrId}/restore`), 403, 'forbidden')
      await takenOver()
      await until(async () => (await worksOf(service).countDocuments({ id: ehrId })) === 0)
      assert.equal(await kept('Task').countDocuments({ ehrId, _rperm: /^removed:/ }), tasks)

      await ehrs.restore({ ...callerOf(admin), roles: ['admin'] }, ehrId, false).catch(() => {})
      await heldUp(ehrId)
      assert.equal(await seenBy(owner, owner, planId), '404,404,404,0')
      const key = { 'idempotency-key': newId() }
      const again = admin.call('POST', `/med/ehr/${ehrId}/restore`, undefined, key)
      assert.equal(await isAnswered(again), false)
      await takenOver()
      ok(await again)
      assert.equal(await seenBy(owner, owner, planId), `200,200,200,${tasks}`)
      ok(await admin.call('POST', `/med/ehr/${ehrId}/restore`, undefined, key))
      assert.deepEqual(await audited(ehrId, 'create', 'Ehr'), [1, 1])
      await isSound()
    })
  })
})

/** Asks again as long as it is told to. */
const answered = <A extends Pick<Answer, 'status' | 'body'>>(ask: () => Promise<A>): Promise<A> =>
  found(async () => {
    const answer = await ask()
    return answer.status === 503 ? undefined : answer
  })

/** Whether a request is answered before long, on a machine that has much else to do, too. */
async function isAnswered(answer: Promise<{ status: number }>): Promise<boolean> {
  const late = new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), 1000))
  return (await Promise.race([answer, late])) !== undefined
}

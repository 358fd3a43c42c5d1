import assert from 'node:assert/strict'
import { createPlanInOwnEhr } from '../../harness/care/by-class-family.ts'
import { assertError, createClassClient, parseDate } from '../../harness/clients/class-client.ts'
import { createPerson, type Person } from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'

describe('Task', () => {
  let owner: Person
  let stranger: Person
  let context: { ehrId: string; carePlanId: string; goalId: string }

  const newGoal = async (plan: object): Promise<string> =>
    (
      await createClassClient(owner)
        .post('Goal', { ...plan, name: 'Walk' })
        .expect(201)
    ).body.objectId

  before(async () => {
    ;[owner, stranger] = await Promise.all([createPerson(), createPerson()])
    const plan = await createPlanInOwnEhr(owner)
    context = { ...plan, goalId: await newGoal(plan) }
  })

  it('is created ACTIVE in a goal', async () => {
    const task = {
      ...context,
      name: 'Buy shoes',
      dueDate: parseDate('2026-06-01T00:00:00.000Z'),
      priority: 'HIGH',
      repeat: { every: 2, period: 'WEEK' },
    }
    const { body } = await createClassClient(owner).post('Task', task).expect(201)
    for (const [name, value] of Object.entries(task)) assert.deepEqual(body[name], value)
    assert.deepEqual([body.status, body.version], ['ACTIVE', 1])
    assertError(await createClassClient(stranger).get('Task', body.objectId), 101)
    const wrong = { ...task, repeat: { every: 0, period: 'YEAR', until: 'x' }, priority: 'huge' }
    assertError(await createClassClient(owner).post('Task', wrong), 142, /priority .*repeat\.every/)
  })

  it('requires an EHR, a care plan and a goal that belong together and are open to the caller', async () => {
    const other = await createPlanInOwnEhr(owner)
    const theirs = await createPlanInOwnEhr(stranger)
    const wrong = [
      { ...context, goalId: 'doesNotExist' },
      { ...context, carePlanId: other.carePlanId },
      { ...context, ehrId: theirs.ehrId },
      { ...theirs, goalId: context.goalId },
    ]
    for (const ids of wrong)
      assertError(await createClassClient(owner).post('Task', { ...ids, name: 'x' }), 101)
    assertError(
      await createClassClient(owner).post('Task', {}),
      141,
      'Missing required properties: carePlanId, ehrId, goalId, name',
    )
  })

  it('is closed permanently, and cannot be added to a closed goal', async () => {
    const { post, put } = createClassClient(owner)
    const goalId = await newGoal({ ehrId: context.ehrId, carePlanId: context.carePlanId })
    const task = { ...context, goalId, name: 'x' }
    const { body } = await post('Task', task).expect(201)
    await put('Task', body.objectId, { status: 'COMPLETED' }).expect(200)
    assertError(await put('Task', body.objectId, { status: 'CANCELLED' }), 142)
    assertError(await put('Task', body.objectId, { goalId: context.goalId }), 142)
    await put('Goal', goalId, { status: 'COMPLETED' }).expect(200)
    assertError(await post('Task', task), 142, 'goalId must not be a closed goal')
  })

  it('is deleted with its goal', async () => {
    const goalId = await newGoal({ ehrId: context.ehrId, carePlanId: context.carePlanId })
    const { body } = await createClassClient(owner)
      .post('Task', { ...context, goalId, name: 'x' })
      .expect(201)
    await createClassClient(owner).delete('Goal', goalId).expect(200)
    assertError(await createClassClient(owner).get('Task', body.objectId), 101)
  })

  it('is refused if its goal or plan would become too large to read as a whole', async () => {
    const plan = await createPlanInOwnEhr(owner)
    const goalId = await newGoal(plan)
    const { db } = service
    const copies = async (name: string, id: string) => {
      const { _id, ...one } = (await db.collection(name).findOne({ _id: id as never }))!
      await db
        .collection(name)
        .insertMany(Array.from({ length: 98 }, () => ({ ...one, _id: crypto.randomUUID() })) as never)
    }
    /** Sends several requests at once, of which only one fits into the capacity. */
    const assertOneFits = async (name: string, body: Record<string, unknown>, message: string | RegExp) => {
      const answers = await Promise.all(
        Array.from({ length: 6 }, () => createClassClient(owner).post(name, body)),
      )
      const refusals = answers.filter(({ status }) => status !== 201)
      assert.equal(refusals.length, 5)
      for (const answer of refusals) assertError(answer, 142, message)
    }
    const task = { ...plan, goalId, name: 'x' }
    await copies('Task', (await createClassClient(owner).post('Task', task).expect(201)).body.objectId)
    await assertOneFits(
      'Task',
      task,
      'goalId must be another goal: this one already has 100 tasks, the maximum',
    )
    await copies('Goal', goalId)
    await assertOneFits('Goal', { ...plan, name: 'x' }, /already has 100 goals/)
  })
})

import assert from 'node:assert/strict'
import { newPlan } from '../../harness/care/by-class-family.ts'
import { assertError, classesOf, moment } from '../../harness/clients/class-client.ts'
import { newPerson, type Person } from '../../harness/people/people.ts'

describe('Goal', () => {
  let owner: Person
  let stranger: Person
  let context: { ehrId: string; carePlanId: string }

  const newGoal = async () =>
    (
      await classesOf(owner)
        .post('Goal', { ...context, name: 'Walk' })
        .expect(201)
    ).body

  before(async () => {
    ;[owner, stranger] = await Promise.all([newPerson(), newPerson()])
    context = await newPlan(owner)
  })

  it('is created ACTIVE in a care plan', async () => {
    const sent = {
      ...context,
      name: 'Walk',
      dueDate: moment('2026-06-01T00:00:00.000Z'),
      description: 'Daily',
    }
    const { body } = await classesOf(owner).post('Goal', sent).expect(201)
    for (const [name, value] of Object.entries(sent)) assert.deepEqual(body[name], value)
    assert.deepEqual([body.status, body.version], ['ACTIVE', 1])
    assertError(await classesOf(stranger).get('Goal', body.objectId), 101)
  })

  it('names all that is missing', async () => {
    assertError(
      await classesOf(owner).post('Goal', {}),
      141,
      'Missing required properties: carePlanId, ehrId, name',
    )
    assertError(
      await classesOf(owner).post('Goal', { ...context, name: 'x', status: 'ACTIVE' }),
      142,
      /^status /,
    )
  })

  it('needs an EHR and a care plan that exist, belong together and are the caller’s', async () => {
    const theirs = await newPlan(stranger)
    const wrong = [
      { ...context, carePlanId: 'doesNotExist' },
      { ...context, ehrId: 'doesNotExist' },
      { ehrId: context.ehrId, carePlanId: theirs.carePlanId },
      { ehrId: theirs.ehrId, carePlanId: context.carePlanId },
      theirs,
    ]
    for (const ids of wrong)
      assertError(await classesOf(owner).post('Goal', { ...ids, name: 'x' }), 101, 'Object not found.')
  })

  it('is closed by an update, for good', async () => {
    const { objectId } = await newGoal()
    const { put } = classesOf(owner)
    const close = {
      status: 'CANCELLED',
      outcome: 'Moved',
      achievementDate: moment('2026-05-01T00:00:00.000Z'),
    }
    const { body } = await put('Goal', objectId, close).expect(200)
    assert.deepEqual([body.status, body.outcome, body.version], ['CANCELLED', 'Moved', 2])
    assertError(await put('Goal', objectId, { status: 'COMPLETED' }), 142)
    assertError(await put('Goal', objectId, { status: 'ACTIVE' }), 142)
    await put('Goal', objectId, { notes: 'To another town', outcome: 'Moved away' }).expect(200)
  })

  it('stays in its plan', async () => {
    const { objectId } = await newGoal()
    const { carePlanId } = await newPlan(owner)
    assertError(
      await classesOf(owner).put('Goal', objectId, { carePlanId }),
      142,
      'carePlanId may not be changed',
    )
    assertError(await classesOf(stranger).put('Goal', objectId, { name: 'x' }), 101)
  })

  it('is deleted by whom it belongs to', async () => {
    const { objectId } = await newGoal()
    assertError(await classesOf(stranger).delete('Goal', objectId), 101)
    await classesOf(owner).delete('Goal', objectId).expect(200)
    assertError(await classesOf(owner).get('Goal', objectId), 101)
  })
})

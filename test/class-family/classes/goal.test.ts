import assert from 'node:assert/strict'
import { createPlanInOwnEhr } from '../../harness/care/by-class-family.ts'
import { assertError, createClassClient, parseDate } from '../../harness/clients/class-client.ts'
import { createPerson, type Person } from '../../harness/people/people.ts'

describe('Goal', () => {
  let owner: Person
  let stranger: Person
  let context: { ehrId: string; carePlanId: string }

  const newGoal = async () =>
    (
      await createClassClient(owner)
        .post('Goal', { ...context, name: 'Walk' })
        .expect(201)
    ).body

  before(async () => {
    ;[owner, stranger] = await Promise.all([createPerson(), createPerson()])
    context = await createPlanInOwnEhr(owner)
  })

  it('is created ACTIVE in a care plan', async () => {
    const goal = {
      ...context,
      name: 'Walk',
      dueDate: parseDate('2026-06-01T00:00:00.000Z'),
      description: 'Daily',
    }
    const { body } = await createClassClient(owner).post('Goal', goal).expect(201)
    for (const [name, value] of Object.entries(goal)) assert.deepEqual(body[name], value)
    assert.deepEqual([body.status, body.version], ['ACTIVE', 1])
    assertError(await createClassClient(stranger).get('Goal', body.objectId), 101)
  })

  it('reports all missing fields', async () => {
    assertError(
      await createClassClient(owner).post('Goal', {}),
      141,
      'Missing required properties: carePlanId, ehrId, name',
    )
    assertError(
      await createClassClient(owner).post('Goal', { ...context, name: 'x', status: 'ACTIVE' }),
      142,
      /^status /,
    )
  })

  it('requires an existing EHR and a care plan in it, both open to the caller', async () => {
    const theirs = await createPlanInOwnEhr(stranger)
    const wrong = [
      { ...context, carePlanId: 'doesNotExist' },
      { ...context, ehrId: 'doesNotExist' },
      { ehrId: context.ehrId, carePlanId: theirs.carePlanId },
      { ehrId: theirs.ehrId, carePlanId: context.carePlanId },
      theirs,
    ]
    for (const ids of wrong)
      assertError(
        await createClassClient(owner).post('Goal', { ...ids, name: 'x' }),
        101,
        'Object not found.',
      )
  })

  it('is closed by an update, permanently', async () => {
    const { objectId } = await newGoal()
    const { put } = createClassClient(owner)
    const close = {
      status: 'CANCELLED',
      outcome: 'Moved',
      achievementDate: parseDate('2026-05-01T00:00:00.000Z'),
    }
    const { body } = await put('Goal', objectId, close).expect(200)
    assert.deepEqual([body.status, body.outcome, body.version], ['CANCELLED', 'Moved', 2])
    assertError(await put('Goal', objectId, { status: 'COMPLETED' }), 142)
    assertError(await put('Goal', objectId, { status: 'ACTIVE' }), 142)
    await put('Goal', objectId, { notes: 'To another town', outcome: 'Moved away' }).expect(200)
  })

  it('stays in its plan', async () => {
    const { objectId } = await newGoal()
    const { carePlanId } = await createPlanInOwnEhr(owner)
    assertError(
      await createClassClient(owner).put('Goal', objectId, { carePlanId }),
      142,
      'carePlanId cannot be changed',
    )
    assertError(await createClassClient(stranger).put('Goal', objectId, { name: 'x' }), 101)
  })

  it('can be deleted by its owner', async () => {
    const { objectId } = await newGoal()
    assertError(await createClassClient(stranger).delete('Goal', objectId), 101)
    await createClassClient(owner).delete('Goal', objectId).expect(200)
    assertError(await createClassClient(owner).get('Goal', objectId), 101)
  })
})

import assert from 'node:assert/strict'
import { createPlanInOwnEhr, createPressureObject } from '../harness/care/by-class-family.ts'
import { createClassClient } from '../harness/clients/class-client.ts'
import { createPerson, type Person } from '../harness/people/people.ts'
import { request, service } from '../harness/service/service.ts'

/** Requests that would fill an audit, or keep the service busy with it. */
describe('attack: a flood of audit entries', () => {
  let patient: Person
  let stranger: Person
  let ehrId: string
  let carePlanId: string

  before(async () => {
    ;[patient, stranger] = await Promise.all([createPerson(), createPerson()])
    ;({ ehrId, carePlanId } = await createPlanInOwnEhr(patient))
  })

  /** The audit entries that some work leaves in the patient's EHR. */
  async function entriesOf(work: () => PromiseLike<unknown>) {
    const entries = service.db.collection('audit.entries')
    const previousCount = await entries.countDocuments({ ehrId })
    await work()
    return (await entries.find({ ehrId }).sort({ at: 1, _id: 1 }).toArray()).slice(previousCount)
  }
  const query = (where: object, asker = stranger) =>
    request().post('/1/classes/Goal').set(asker.headers).send({ _method: 'GET', where }).timeout(5_000)

  it('logs one query that names an EHR many times only once', async () => {
    const thousand = Array<string>(1_000).fill(ehrId)
    for (const where of [
      { ehrId: { $in: thousand } },
      { $or: Array.from({ length: 100 }, () => ({ ehrId })) },
      { $and: [{ ehrId: { $in: thousand } }, { $or: [{ ehrId }, { carePlanId }] }] },
    ]) {
      const entries = await entriesOf(() => query(where).expect(200))
      assert.deepEqual(
        entries.map(({ type, outcome, userId }) => [type, outcome, userId]),
        [['Goal', 'denied', stranger.mvUid]],
      )
    }
    await query({ ehrId: { $in: Array(4_900).fill(ehrId) } }).expect(400)
  })

  it('merges the entries of the parts of a batch', async () => {
    const query = { method: 'GET', path: '/1/classes/Goal', body: { where: { ehrId } } }
    const entries = await entriesOf(() =>
      createClassClient(stranger).batch(Array(50).fill(query)).expect(200),
    )
    assert.equal(entries.length, 1)
    const read = { method: 'GET', path: `/1/classes/CarePlan/${carePlanId}` }
    const batchEntries = await entriesOf(() =>
      createClassClient(patient).batch(Array(50).fill(read)).expect(200),
    )
    assert.deepEqual(
      batchEntries.map(({ action, ids }) => [action, ids]),
      [['read', [carePlanId]]],
    )
  })

  it('refuses too many names in one query, its subqueries or the parts of a batch', async () => {
    const ids = (from: number, count: number) => Array.from({ length: count }, (_, i) => `ehr${from + i}`)
    await query({ ehrId: { $in: ids(0, 100) } }).expect(200)
    await query({ ehrId: { $in: ids(0, 101) } }).expect(400)
    await query({ $or: [{ ehrId: { $in: ids(0, 60) } }, { carePlanId: { $in: ids(60, 60) } }] }).expect(400)
    const goals = { className: 'Goal', where: { ehrId: { $in: ids(0, 101) } } }
    await query({ name: { $select: { key: 'name', query: goals } } }).expect(400)
    const parts = [0, 60].map((from) => ({
      method: 'GET',
      path: '/1/classes/Goal',
      body: { where: { ehrId: { $in: ids(from, 60) } } },
    }))
    await createClassClient(stranger).batch(parts).expect(400)
  })

  it('merges the entries of refused writes', async () => {
    const write = { method: 'POST', path: '/1/classes/BloodPressure', body: createPressureObject(carePlanId) }
    const entries = await entriesOf(() =>
      createClassClient(stranger).batch(Array(50).fill(write)).expect(200),
    )
    assert.deepEqual(
      entries.map(({ action, type, outcome }) => [action, type, outcome]),
      [['create', 'BloodPressure', 'denied']],
    )
  })
})

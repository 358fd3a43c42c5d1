import assert from 'node:assert/strict'
import type { MongoClient } from 'mongodb'
import { removeWithAll, sweepRemovals } from '../../../records/ehrs/removal/removal.ts'
import { contents } from '../../../records/kinds.ts'
import type { Records } from '../../../records/store/writing/transaction.ts'
import { Turns } from '../../../records/store/writing/turns.ts'
import { ehrOf, newPlan, newPressure } from '../../harness/care/by-class-family.ts'
import { assertError, classesOf } from '../../harness/clients/class-client.ts'
import { newPerson, type Person } from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'
import { callerOf } from '../../harness/test-records.ts'

/** The records of a process that ends before Parse Server deletes. */
const unaudited = (client: MongoClient) => {
  const audit = { inTransaction: () => ({ write: async () => {}, settle: () => {} }) }
  const underWay = { done: async () => true }
  const turns = new Turns()
  return { client, db: service.db, contents, audit, underWay, turns } as unknown as Records
}

const countIn = (collection: string, filter: object) =>
  service.db.collection(collection).countDocuments(filter)

describe('removal', () => {
  let owner: Person

  before(async () => {
    owner = await newPerson()
  })

  it('is over for everyone at once, and finished later when the process ends in between', async () => {
    const { ehrId, carePlanId } = await newPlan(owner)
    const { objectId } = (await classesOf(owner).post('BloodPressure', newPressure(carePlanId)).expect(201))
      .body
    const database = { client: service.client, db: service.db, contents }
    await removeWithAll(unaudited(service.client), callerOf(owner.mvUid), 'CarePlan', {
      id: carePlanId,
      ehrId,
    })
    assertError(await classesOf(owner).get('CarePlan', carePlanId), 101)
    assertError(await classesOf(owner).get('BloodPressure', objectId), 101)
    assert.equal(await countIn('CarePlan', { _id: carePlanId }), 1)

    await sweepRemovals(database)
    assert.equal(await countIn('CarePlan', { _id: carePlanId }), 1, 'too early: a request may be under way')
    await service.db.collection('Goal').insertOne({ ehrId, carePlanId, _rperm: [], _wperm: [] })
    await service.db.collection('Removal').updateMany({}, { $set: { at: new Date(0) } })
    await sweepRemovals(database)
    assert.equal(await countIn('CarePlan', { _id: carePlanId }), 0)
    assert.equal(await countIn('Goal', { carePlanId }), 0)
    assert.equal(await countIn('Removal', {}), 0)
    await classesOf(owner).get('Ehr', ehrId).expect(200)
  })

  it('that fails takes nothing back', async () => {
    const { carePlanId, ehrId } = await newPlan(owner)
    const broken = unaudited({
      startSession: () => {
        throw new Error('no database')
      },
    } as unknown as MongoClient)
    const plan = { id: carePlanId, ehrId }
    await assert.rejects(removeWithAll(broken, callerOf(owner.mvUid), 'CarePlan', plan), /no database/)
    const { body } = await classesOf(owner).post('BloodPressure', newPressure(carePlanId)).expect(201)
    await classesOf(owner).get('BloodPressure', body.objectId).expect(200)
  })

  it('leaves other EHRs and care plans alone', async () => {
    const [kept, gone] = [await newPlan(owner), await newPlan(owner)]
    const pressure = await classesOf(owner).post('BloodPressure', newPressure(kept.carePlanId)).expect(201)
    await classesOf(owner).delete('CarePlan', gone.carePlanId).expect(200)
    await classesOf(owner).get('CarePlan', kept.carePlanId).expect(200)
    await classesOf(owner).get('BloodPressure', pressure.body.objectId).expect(200)
    assert.equal(await ehrOf(owner), kept.ehrId)
  })
})

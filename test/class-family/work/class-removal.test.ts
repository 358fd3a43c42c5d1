import assert from 'node:assert/strict'
import type { MongoClient } from 'mongodb'
import {
  deleteBeforeParse,
  sweepPendingDeletions,
} from '../../../records/ehrs/deletion/cascading-deletion.ts'
import { containedCollections } from '../../../records/kinds.ts'
import { EhrLocks } from '../../../records/store/writing/ehr-locks.ts'
import type { StoreContext } from '../../../records/store/writing/transaction.ts'
import { createPlanInOwnEhr, createPressureObject, ehrOf } from '../../harness/care/by-class-family.ts'
import { assertError, createClassClient } from '../../harness/clients/class-client.ts'
import { createPerson, type Person } from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'
import { createCaller } from '../../harness/test-store.ts'

/** The stores of a process that ends before Parse Server deletes the object. */
const unaudited = (client: MongoClient) => {
  const audit = { joinTransaction: () => ({ write: async () => {}, settle: () => {} }) }
  const jobs = { waitUntilDone: async () => true }
  const ehrLocks = new EhrLocks()
  return {
    client,
    db: service.db,
    contents: containedCollections,
    audit,
    jobs,
    ehrLocks,
  } as unknown as StoreContext
}

const countIn = (collection: string, filter: object) =>
  service.db.collection(collection).countDocuments(filter)

describe('removal', () => {
  let owner: Person

  before(async () => {
    owner = await createPerson()
  })

  it('takes effect for everyone at once, and finishes later if the process ends halfway', async () => {
    const { ehrId, carePlanId } = await createPlanInOwnEhr(owner)
    const { objectId } = (
      await createClassClient(owner).post('BloodPressure', createPressureObject(carePlanId)).expect(201)
    ).body
    const database = { client: service.client, db: service.db, contents: containedCollections }
    await deleteBeforeParse(unaudited(service.client), createCaller(owner.mvUid), 'CarePlan', {
      id: carePlanId,
      ehrId,
    })
    assertError(await createClassClient(owner).get('CarePlan', carePlanId), 101)
    assertError(await createClassClient(owner).get('BloodPressure', objectId), 101)
    assert.equal(await countIn('CarePlan', { _id: carePlanId }), 1)

    await sweepPendingDeletions(database)
    assert.equal(await countIn('CarePlan', { _id: carePlanId }), 1, 'too early: a request may be under way')
    await service.db.collection('Goal').insertOne({ ehrId, carePlanId, _rperm: ['*'], _wperm: [] })
    await service.db.collection('Removal').updateMany({}, { $set: { at: new Date(0) } })
    await sweepPendingDeletions(database)
    assert.equal(await countIn('CarePlan', { _id: carePlanId }), 0)
    assert.equal(await countIn('Goal', { carePlanId, _rperm: '*' }), 0)
    assert.equal(await countIn('Removal', {}), 0)
    await createClassClient(owner).get('Ehr', ehrId).expect(200)
  })

  it('leaves everything unchanged if it fails', async () => {
    const { carePlanId, ehrId } = await createPlanInOwnEhr(owner)
    const broken = unaudited({
      startSession: () => {
        throw new Error('no database')
      },
    } as unknown as MongoClient)
    const plan = { id: carePlanId, ehrId }
    await assert.rejects(
      deleteBeforeParse(broken, createCaller(owner.mvUid), 'CarePlan', plan),
      /no database/,
    )
    const { body } = await createClassClient(owner)
      .post('BloodPressure', createPressureObject(carePlanId))
      .expect(201)
    await createClassClient(owner).get('BloodPressure', body.objectId).expect(200)
  })

  it('leaves other EHRs and care plans unchanged', async () => {
    const [kept, gone] = [await createPlanInOwnEhr(owner), await createPlanInOwnEhr(owner)]
    const pressure = await createClassClient(owner)
      .post('BloodPressure', createPressureObject(kept.carePlanId))
      .expect(201)
    await createClassClient(owner).delete('CarePlan', gone.carePlanId).expect(200)
    await createClassClient(owner).get('CarePlan', kept.carePlanId).expect(200)
    await createClassClient(owner).get('BloodPressure', pressure.body.objectId).expect(200)
    assert.equal(await ehrOf(owner), kept.ehrId)
  })
})

import assert from 'node:assert/strict'
import { createPlanInOwnEhr, createPressureObject, ehrOf } from '../../harness/care/by-class-family.ts'
import { createClassClient } from '../../harness/clients/class-client.ts'
import { createPerson, type Person } from '../../harness/people/people.ts'

describe('removal', () => {
  let owner: Person

  before(async () => {
    owner = await createPerson()
  })

  it('leaves other EHRs and care plans unchanged', async () => {
    const otherPlan = await createPlanInOwnEhr(owner)
    const gone = await createPlanInOwnEhr(owner)
    const pressure = await createClassClient(owner)
      .post('BloodPressure', createPressureObject(otherPlan.carePlanId))
      .expect(201)
    await createClassClient(owner).delete('CarePlan', gone.carePlanId).expect(200)
    await createClassClient(owner).get('CarePlan', otherPlan.carePlanId).expect(200)
    await createClassClient(owner).get('BloodPressure', pressure.body.objectId).expect(200)
    assert.equal(await ehrOf(owner), otherPlan.ehrId)
  })
})

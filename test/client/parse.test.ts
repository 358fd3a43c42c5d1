import assert from 'node:assert/strict'
import type { BodyWeight } from 'health-record-client/parse'
import type Parse from 'parse/node'
import { createPatient, createPlan, createWeight } from '../harness/care/patients.ts'
import { loadSdk } from '../harness/clients/class-client.ts'

describe('the attributes of the classes', () => {
  it('let the compiler check queries of the Parse SDK', async () => {
    const patient = await createPatient()
    const planId = await createPlan(patient)
    for (const weight of [70, 80]) await createWeight(patient, planId, weight)
    const { Query } = loadSdk()
    const query = new Query<Parse.Object<BodyWeight>>('BodyWeight').equalTo('carePlanId', planId)
    // @ts-expect-error: a class has no other attributes
    new Query<Parse.Object<BodyWeight>>('BodyWeight').exclude('wait')
    // @ts-expect-error: a weight is a number
    const text: Parameters<typeof query.greaterThan<'weight'>>[1] = 'heavy'
    assert.equal(text, 'heavy')
    const { sessionToken } = patient
    const weights = await query.greaterThan('weight', 75).find({ sessionToken })
    const times: Date[] = weights.map((weight) => weight.get('timestamp'))
    assert.deepEqual(times, [new Date('2026-03-01T08:30:00Z')])
  })
})

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { createPatient, createPlan, type Patient } from '../../harness/care/patients.ts'
import { assertProblem, assertProblemPlaces, assertStatus } from '../../harness/clients/path-client.ts'
import { createRoleHolder, type Person } from '../../harness/people/people.ts'

type Shown = Record<string, unknown>

describe('the values of a data type', () => {
  let modeller: Person
  let patient: Patient
  let carePlanId: string
  before(async () => {
    ;[modeller, patient] = await Promise.all([createRoleHolder('modeller'), createPatient()])
    carePlanId = await createPlan(patient)
  })

  const newType = async (more: object = {}, type = `t-${randomUUID()}`): Promise<string> => {
    const body = { type, name: 'Of a test', schema: { type: 'number' }, ...more }
    assertStatus(await modeller.call('POST', '/data/type/data', body), 201)
    return type
  }
  const path = () => `/data/${patient.mvUid}/measurement`
  const store = (dataType: string, value: unknown, more: object = {}) => {
    const body = { carePlanId, dataType, value, timestamp: '2026-03-01T20:00:00Z', ...more }
    return patient.call('POST', path(), body)
  }
  const storeOne = async (...one: Parameters<typeof store>): Promise<Shown> => {
    const [{ href, status }] = assertStatus(await store(...one), 201).items
    assert.equal(status, 'stored')
    return assertStatus(await patient.call('GET', href))
  }
  const refused = async (...one: Parameters<typeof store>) => {
    const answer = await store(...one)
    assert.deepEqual(assertProblemPlaces(answer, 422, 'rule-violated'), ['body.value'], JSON.stringify(one))
    return answer.body.errors[0].message
  }

  it('obey its schema in the unit of the type, whatever unit they are sent in', async () => {
    const girth = await newType({ unit: 'cm', schema: { type: 'number', minimum: 20, maximum: 300 } })
    assert.equal((await storeOne(girth, 1, { unit: 'm' })).amount, 100)
    assert.match(await refused(girth, 250, { unit: 'm' }), /must be at most 300/)
    assert.match(await refused(girth, 19), /must be at least 20/)
    const whole = await newType({ unit: 'cm', schema: { type: 'integer' } })
    assert.equal((await storeOne(whole, 1.5, { unit: 'm' })).amount, 150)
    assert.match(await refused(whole, 31, { unit: '[in_i]' }), /must be an integer/)
  })

  it('are multiples of decimals', async () => {
    for (const [multipleOf, multiples, others] of [
      [0.1, [0.3, 1.1, 72.7, -0.7, 0, 12_345_678.9, 1e21], [0.35, 0.30000000001, 12_345_678.95]],
      [0.01, [1_234_567.89, 0.07], [0.075]],
      [1e-7, [3e-7], [3.5e-7]],
    ] as const) {
      const type = await newType({ schema: { type: 'number', multipleOf } })
      for (const value of multiples) await storeOne(type, value)
      for (const value of others)
        assert.equal(await refused(type, value), `value must be a multiple of ${multipleOf}.`)
    }
  })
})

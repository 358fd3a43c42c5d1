import assert from 'node:assert/strict'
import { assertError, callFunction } from '../../harness/clients/class-client.ts'
import { createPerson, type Person } from '../../harness/people/people.ts'
import { apiKeys, request } from '../../harness/service/service.ts'

describe('functions', () => {
  let user: Person

  before(async () => {
    user = await createPerson()
  })

  it('are available at both addresses and return a result', async () => {
    const params = { weight: 70, weightUnit: 'kg', height: 1.75, heightUnit: 'm' }
    for (const path of ['/1/functions/bmi', '/functions/bmi']) {
      const { body } = await request().post(path).set(user.headers).send(params).expect(200)
      assert.deepEqual(body, {
        result: { bmi: 22.9, unit: 'kg/m2', category: 'normal', classification: 'who-adult' },
      })
    }
  })

  it('require a session', async () => {
    for (const name of ['bmi', 'acq', 'bloodPressureCondition']) {
      const { status, body } = await request().post(`/1/functions/${name}`).set(apiKeys()).send({})
      assert.deepEqual([status, body.code], [401, 209])
    }
  })

  it('report all missing parameters', async () => {
    assertError(
      await callFunction(user, 'bmi', { weight: 70, height: null }),
      141,
      'Missing required properties: height, heightUnit, weightUnit',
    )
    assertError(await callFunction(user, 'acq', {}), 141, 'Missing required properties: answers, version')
    assertError(
      await callFunction(user, 'bloodPressureCondition', {}),
      141,
      'Missing required properties: diastolic, systolic, thresholds, unit',
    )
  })

  it('report all violations', async () => {
    const bmi = { weight: 'x', weightUnit: 'kg', height: 1.75, heightUnit: 'm', colour: 1 }
    assertError(
      await callFunction(user, 'bmi', bmi),
      142,
      'colour is not a known property; weight must be a number',
    )
    const swapped = { weight: 178, weightUnit: 'kg', height: 72, heightUnit: 'cm' }
    assertError(await callFunction(user, 'bmi', swapped), 142, 'bmi must be from 5 to 200 kg/m2')
    const acq = { version: 4, answers: [7, 1, 'x'] }
    const answer = await callFunction(user, 'acq', acq)
    assertError(answer, 142)
    for (const path of ['version', 'answers.0', 'answers.2'])
      assert.match(answer.body.error, new RegExp(path))
    const pressure = { systolic: 80, diastolic: 120, unit: 'mmHg', thresholds: { unit: 'mmHg', bands: [] } }
    const condition = await callFunction(user, 'bloodPressureCondition', pressure)
    assertError(condition, 142, /diastolic must be below systolic.*thresholds/)
  })

  it('score the questionnaire on asthma control', async () => {
    const { body } = await callFunction(user, 'acq', {
      version: 6,
      answers: [1, 1, 1, 1, 0],
      relieverPuffs: 0,
    }).expect(200)
    assert.deepEqual(body.result, { score: 0.67, sum: 4, answered: 6, control: 'well-controlled' })
  })

  it("classify a blood pressure by the caller's thresholds", async () => {
    const pressure = { systolic: 150, diastolic: 85, unit: 'mmHg' }
    const conditionBy = async (thresholds: unknown) =>
      (await callFunction(user, 'bloodPressureCondition', { ...pressure, thresholds }).expect(200)).body
        .result.condition
    assert.equal(await conditionBy('aha2017'), 'stage2')
    assert.equal(await conditionBy({ systolicHigh: 160, unit: 'mmHg' }), 'normal')
    const bands = [{ code: 'mine', label: 'Mine', severity: 1, combine: 'any', systolic: { gte: 150 } }]
    assert.equal(await conditionBy({ name: 'own', unit: 'mm[Hg]', bands }), 'mine')
  })

  it('answer unusual input with a code', async () => {
    const odd = [
      { answers: { length: 9 }, version: 5 },
      { answers: null, version: null },
      { version: [5], answers: 'x' },
    ]
    for (const params of odd) assert.equal((await callFunction(user, 'acq', params)).status, 400)
    const unknown = await callFunction(user, 'nope', {})
    assert.equal(unknown.status, 400)
  })
})

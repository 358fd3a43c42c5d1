import assert from 'node:assert/strict'
import { assertError, functionOf } from '../../harness/clients/class-client.ts'
import { newPerson, type Person } from '../../harness/people/people.ts'
import { keys, request } from '../../harness/service/service.ts'

describe('functions', () => {
  let user: Person

  before(async () => {
    user = await newPerson()
  })

  it('are called at both addresses and answer in result', async () => {
    const params = { weight: 70, weightUnit: 'kg', height: 1.75, heightUnit: 'm' }
    for (const path of ['/1/functions/bmi', '/functions/bmi']) {
      const { body } = await request().post(path).set(user.headers).send(params).expect(200)
      assert.deepEqual(body, {
        result: { bmi: 22.9, unit: 'kg/m2', category: 'normal', classification: 'who-adult' },
      })
    }
  })

  it('are for users with a session', async () => {
    for (const name of ['bmi', 'acq', 'bloodPressureCondition']) {
      const { status, body } = await request().post(`/1/functions/${name}`).set(keys()).send({})
      assert.deepEqual([status, body.code], [401, 209])
    }
  })

  it('name all that is missing', async () => {
    assertError(
      await functionOf(user, 'bmi', { weight: 70, height: null }),
      141,
      'Missing required properties: height, heightUnit, weightUnit',
    )
    assertError(await functionOf(user, 'acq', {}), 141, 'Missing required properties: answers, version')
    assertError(
      await functionOf(user, 'bloodPressureCondition', {}),
      141,
      'Missing required properties: diastolic, systolic, thresholds, unit',
    )
  })

  it('tell all that is wrong', async () => {
    const bmi = { weight: 'x', weightUnit: 'kg', height: 1.75, heightUnit: 'm', colour: 1 }
    assertError(
      await functionOf(user, 'bmi', bmi),
      142,
      'colour is not a known property; weight must be a number',
    )
    const swapped = { weight: 178, weightUnit: 'kg', height: 72, heightUnit: 'cm' }
    assertError(await functionOf(user, 'bmi', swapped), 142, 'bmi must lie between 5 and 200 kg/m2')
    const acq = { version: 4, answers: [7, 1, 'x'] }
    const answer = await functionOf(user, 'acq', acq)
    assertError(answer, 142)
    for (const path of ['version', 'answers.0', 'answers.2'])
      assert.match(answer.body.error, new RegExp(path))
    const pressure = { systolic: 80, diastolic: 120, unit: 'mmHg', thresholds: { unit: 'mmHg', bands: [] } }
    const condition = await functionOf(user, 'bloodPressureCondition', pressure)
    assertError(condition, 142, /diastolic must be below systolic.*thresholds/)
  })

  it('score the questionnaire on asthma control', async () => {
    const { body } = await functionOf(user, 'acq', {
      version: 6,
      answers: [1, 1, 1, 1, 0],
      relieverPuffs: 0,
    }).expect(200)
    assert.deepEqual(body.result, { score: 0.67, sum: 4, answered: 6, control: 'well-controlled' })
  })

  it('tell what a blood pressure means by thresholds of the caller', async () => {
    const pressure = { systolic: 150, diastolic: 85, unit: 'mmHg' }
    const conditionBy = async (thresholds: unknown) =>
      (await functionOf(user, 'bloodPressureCondition', { ...pressure, thresholds }).expect(200)).body.result
        .condition
    assert.equal(await conditionBy('aha2017'), 'stage2')
    assert.equal(await conditionBy({ systolicHigh: 160, unit: 'mmHg' }), 'normal')
    const bands = [{ code: 'mine', label: 'Mine', severity: 1, combine: 'any', systolic: { gte: 150 } }]
    assert.equal(await conditionBy({ name: 'own', unit: 'mm[Hg]', bands }), 'mine')
  })

  it('answer odd input with a code', async () => {
    const odd = [
      { answers: { length: 9 }, version: 5 },
      { answers: null, version: null },
      { version: [5], answers: 'x' },
    ]
    for (const params of odd) assert.equal((await functionOf(user, 'acq', params)).status, 400)
    const unknown = await functionOf(user, 'nope', {})
    assert.equal(unknown.status, 400)
  })
})

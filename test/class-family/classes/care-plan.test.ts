import assert from 'node:assert/strict'
import { ehrOf, newPlan, newPressure } from '../../harness/care/by-class-family.ts'
import { letIn } from '../../harness/care/patients.ts'
import { assertError, classesOf, moment } from '../../harness/clients/class-client.ts'
import { newPerson, type Person } from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'

const countIn = (collection: string, filter: object) =>
  service.db.collection(collection).countDocuments(filter)

describe('CarePlan', () => {
  let owner: Person
  let stranger: Person
  let ehrId: string

  before(async () => {
    ;[owner, stranger] = await Promise.all([newPerson(), newPerson()])
    ehrId = await ehrOf(owner)
  })

  it('is created ACTIVE and answered whole', async () => {
    const sent = {
      ehrId,
      name: 'Lower blood pressure',
      language: 'nl',
      description: 'Three months',
      proposedStartDate: moment('2026-02-01T00:00:00.000Z'),
      notes: 'Ask about salt',
    }
    const { body } = await classesOf(owner).post('CarePlan', sent).expect(201)
    const { objectId, createdAt, updatedAt, ACL, ...rest } = body
    assert.deepEqual(rest, { ...sent, status: 'ACTIVE', anonymous: false, version: 1 })
    assert.match(createdAt, /^\d{4}-.*Z$/)
    assert.equal(updatedAt, createdAt)
    assert.ok(ACL[`role:plan-${objectId}-read`].read)
    const read = await classesOf(owner).get('CarePlan', objectId).expect(200)
    assert.deepEqual(read.body, body)
  })

  it('names all that is missing, and all that is wrong', async () => {
    const { post } = classesOf(owner)
    assertError(await post('CarePlan', {}), 141, 'Missing required properties: ehrId, name')
    assertError(
      await post('CarePlan', { ehrId, name: { __op: 'Delete' } }),
      141,
      'Missing required properties: name',
    )
    const faulty = {
      ehrId,
      name: '',
      anonymous: 'yes',
      dueDate: 5,
      status: 'ACTIVE',
      outcome: 'x',
      colour: 'red',
    }
    const answer = await post('CarePlan', faulty)
    assertError(answer, 142)
    for (const path of ['name', 'anonymous', 'dueDate', 'status', 'outcome', 'colour'])
      assert.match(answer.body.error, new RegExp(`(^|; )${path} `))
  })

  it('needs an EHR that the caller writes; a foreign one is answered like none', async () => {
    const foreign = await classesOf(stranger).post('CarePlan', { ehrId, name: 'x' })
    const missing = await classesOf(stranger).post('CarePlan', { ehrId: 'doesNotExist', name: 'x' })
    assertError(foreign, 101)
    assert.deepEqual([foreign.status, foreign.body], [missing.status, missing.body])
    for (const odd of ['../Ehr', 'a/b', 'nul\u0000', '$ne', 'é'])
      assertError(await classesOf(owner).post('CarePlan', { ehrId: odd, name: 'x' }), 101)
    assertError(await classesOf(owner).post('CarePlan', { ehrId: { $ne: null }, name: 'x' }), 142)
  })

  it('changes the listed properties and no others', async () => {
    const { carePlanId } = await newPlan(owner)
    const change = { name: 'New', anonymous: true, notes: 'n', dueDate: moment('2027-01-01T00:00:00.000Z') }
    const { body } = await classesOf(owner).put('CarePlan', carePlanId, change).expect(200)
    for (const [name, value] of Object.entries(change)) assert.deepEqual(body[name], value)
    assert.equal(body.version, 2)
    assert.equal(body.ehrId, ehrId)
    assert.deepEqual((await classesOf(owner).get('CarePlan', carePlanId)).body, body)
    const answer = await classesOf(owner).put('CarePlan', carePlanId, {
      ehrId: 'x',
      language: 'nl',
      version: 9,
      colour: 1,
    })
    assertError(answer, 142)
    for (const path of ['ehrId', 'language', 'version', 'colour'])
      assert.match(answer.body.error, new RegExp(path))
  })

  it('may be sent back whole', async () => {
    const { carePlanId } = await newPlan(owner)
    const { body } = await classesOf(owner).get('CarePlan', carePlanId)
    const { objectId: _, createdAt: _c, updatedAt: _u, ...plan } = body
    const answer = await classesOf(owner)
      .put('CarePlan', carePlanId, { ...plan, name: 'Renamed' })
      .expect(200)
    assert.equal(answer.body.name, 'Renamed')
    assert.equal(answer.body.version, 2)
  })

  it('loses what is set to null or deleted, unless it is required', async () => {
    const { carePlanId } = await newPlan(owner)
    const { put } = classesOf(owner)
    await put('CarePlan', carePlanId, { notes: 'n', description: 'd' }).expect(200)
    const { body } = await put('CarePlan', carePlanId, {
      notes: null,
      description: { __op: 'Delete' },
    }).expect(200)
    assert.deepEqual([body.notes, body.description], [undefined, undefined])
    for (const nothing of [null, { __op: 'Delete' }])
      for (const name of ['name', 'status', 'ehrId'])
        assertError(
          await put('CarePlan', carePlanId, { [name]: nothing }),
          141,
          `Missing required properties: ${name}`,
        )
  })

  describe('closed', () => {
    it('keeps its status, while notes, outcome and achievementDate may still be corrected', async () => {
      const { carePlanId } = await newPlan(owner)
      const { put } = classesOf(owner)
      const close = {
        status: 'COMPLETED',
        achievementDate: moment('2026-03-01T00:00:00.000Z'),
        outcome: 'Good',
      }
      const { body } = await put('CarePlan', carePlanId, close).expect(200)
      assert.deepEqual([body.status, body.outcome], ['COMPLETED', 'Good'])
      for (const status of ['ACTIVE', 'CANCELLED', 'DONE', null])
        assert.equal((await put('CarePlan', carePlanId, { status })).status, 400)
      assertError(await put('CarePlan', carePlanId, { status: 'CANCELLED' }), 142)
      await put('CarePlan', carePlanId, { status: 'COMPLETED', notes: 'Late', outcome: 'Very good' }).expect(
        200,
      )
      assert.equal((await classesOf(owner).get('CarePlan', carePlanId)).body.status, 'COMPLETED')
    })

    it('takes in nothing new', async () => {
      const { carePlanId } = await newPlan(owner)
      await classesOf(owner).put('CarePlan', carePlanId, { status: 'CANCELLED' }).expect(200)
      const { post } = classesOf(owner)
      assertError(await post('Goal', { ehrId, carePlanId, name: 'x' }), 142)
      assertError(await post('BloodPressure', newPressure(carePlanId)), 142)
      assertError(await classesOf(stranger).post('BloodPressure', newPressure(carePlanId)), 101)
    })

    it('is closed by one of many who close it at once', async () => {
      const { carePlanId } = await newPlan(owner)
      const statuses = ['COMPLETED', 'CANCELLED', 'COMPLETED', 'CANCELLED']
      const answers = await Promise.all(
        statuses.map((status) => classesOf(owner).put('CarePlan', carePlanId, { status, outcome: status })),
      )
      const { body } = await classesOf(owner).get('CarePlan', carePlanId)
      for (const [i, answer] of answers.entries()) if (statuses[i] !== body.status) assertError(answer, 142)
      assert.ok(answers.some(({ status }) => status === 200))
    })
  })

  it('is invisible to strangers, in every operation', async () => {
    const { carePlanId } = await newPlan(owner)
    const foreign = classesOf(stranger)
    assertError(await foreign.get('CarePlan', carePlanId), 101)
    assertError(await foreign.put('CarePlan', carePlanId, { name: 'x' }), 101)
    assertError(await foreign.delete('CarePlan', carePlanId), 101)
    assert.deepEqual((await foreign.list('CarePlan', { objectId: carePlanId })).body.results, [])
    await classesOf(owner).get('CarePlan', carePlanId).expect(200)
  })

  describe('with participants', () => {
    let nurse: Person
    let reader: Person

    before(async () => {
      ;[nurse, reader] = await Promise.all([newPerson(), newPerson()])
    })

    it('shows the plan and what is registered in it to its readers, and the EHR, but no other plan', async () => {
      const [shared, other] = [await newPlan(owner), await newPlan(owner)]
      const { body } = await classesOf(owner)
        .post('BloodPressure', newPressure(shared.carePlanId))
        .expect(201)
      await letIn(shared.carePlanId, reader, 'read')
      const seen = classesOf(reader)
      await seen.get('CarePlan', shared.carePlanId).expect(200)
      await seen.get('BloodPressure', body.objectId).expect(200)
      await seen.get('Ehr', ehrId).expect(200)
      assertError(await seen.get('CarePlan', other.carePlanId), 101)
      assertError(await seen.put('BloodPressure', body.objectId, { systolic: 140 }), 101)
      assertError(await seen.post('BloodPressure', newPressure(shared.carePlanId)), 101)
      assertError(await seen.delete('CarePlan', shared.carePlanId), 101)
      assertError(await seen.delete('Ehr', ehrId), 101)
      await classesOf(owner).get('BloodPressure', body.objectId).expect(200)
    })

    it('lets its writers register in it, and in nothing else', async () => {
      const [shared, other] = [await newPlan(owner), await newPlan(owner)]
      await letIn(shared.carePlanId, nurse, 'write')
      const { post } = classesOf(nurse)
      const { body } = await post('BloodPressure', newPressure(shared.carePlanId)).expect(201)
      await classesOf(owner).get('BloodPressure', body.objectId).expect(200)
      assertError(await post('BloodPressure', newPressure(other.carePlanId)), 101)
      assertError(await post('CarePlan', { ehrId, name: 'Of the nurse' }), 101)
    })
  })

  describe('deleted', () => {
    it('takes with it what is registered in it, and its roles', async () => {
      const { carePlanId } = await newPlan(owner)
      const { post } = classesOf(owner)
      await post('Goal', { ehrId, carePlanId, name: 'Goal' }).expect(201)
      await Promise.all(
        Array.from({ length: 5 }, () => post('BloodPressure', newPressure(carePlanId)).expect(201)),
      )
      await classesOf(owner).delete('CarePlan', carePlanId).expect(200)
      for (const name of ['Goal', 'BloodPressure']) assert.equal(await countIn(name, { carePlanId }), 0)
      assert.equal(await countIn('CarePlan', { _id: carePlanId }), 0)
      assert.equal(await countIn('_Role', { name: { $regex: carePlanId } }), 0)
      assert.equal(await countIn('_Join:roles:_Role', { relatedId: { $regex: carePlanId } }), 0)
    })

    it('leaves nothing behind of what is being registered meanwhile', async () => {
      const { carePlanId } = await newPlan(owner)
      const { post } = classesOf(owner)
      const writers = Array.from({ length: 20 }, (_, i) =>
        i === 10
          ? classesOf(owner).delete('CarePlan', carePlanId)
          : post('BloodPressure', newPressure(carePlanId)),
      )
      for (const { status } of await Promise.all(writers))
        assert.ok([200, 201, 404].includes(status), String(status))
      assert.equal(await countIn('BloodPressure', { carePlanId }), 0)
    })

    it('is deleted by one of many who delete it at once', async () => {
      const { carePlanId } = await newPlan(owner)
      const answers = await Promise.all(
        Array.from({ length: 5 }, () => classesOf(owner).delete('CarePlan', carePlanId)),
      )
      assert.ok(answers.some(({ status }) => status === 200))
      for (const { status } of answers) assert.ok([200, 404].includes(status), String(status))
      assert.equal(await countIn('CarePlan', { _id: carePlanId }), 0)
    })
  })
})

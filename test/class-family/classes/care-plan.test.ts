import assert from 'node:assert/strict'
import { createPlanInOwnEhr, createPressureObject, ehrOf } from '../../harness/care/by-class-family.ts'
import { addParticipant } from '../../harness/care/patients.ts'
import { assertError, createClassClient, parseDate } from '../../harness/clients/class-client.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { createPerson, type Person } from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'

const countIn = (collection: string, filter: object) =>
  service.db.collection(collection).countDocuments(filter)

/** Contents of deleted plans are hidden, so that they return with it. */
const VISIBLE = { _rperm: { $not: { $regex: '^removed-' } } }

describe('CarePlan', () => {
  let owner: Person
  let stranger: Person
  let ehrId: string

  before(async () => {
    ;[owner, stranger] = await Promise.all([createPerson(), createPerson()])
    ehrId = await ehrOf(owner)
  })

  it('is created ACTIVE and returned completely', async () => {
    const carePlan = {
      ehrId,
      name: 'Lower blood pressure',
      language: 'nl',
      description: 'Three months',
      proposedStartDate: parseDate('2026-02-01T00:00:00.000Z'),
      notes: 'Ask about salt',
    }
    const { body } = await createClassClient(owner).post('CarePlan', carePlan).expect(201)
    const { objectId, createdAt, updatedAt, ACL, ...rest } = body
    assert.deepEqual(rest, { ...carePlan, status: 'ACTIVE', anonymous: false, version: 1 })
    assert.match(createdAt, /^\d{4}-.*Z$/)
    assert.equal(updatedAt, createdAt)
    assert.ok(ACL[`role:plan-${objectId}-read`].read)
    const read = await createClassClient(owner).get('CarePlan', objectId).expect(200)
    assert.deepEqual(read.body, body)
  })

  it('reports all missing fields, and all violations', async () => {
    const { post } = createClassClient(owner)
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

  it('requires an EHR that the caller may write; a foreign one gets the same answer as a missing one', async () => {
    const foreign = await createClassClient(stranger).post('CarePlan', { ehrId, name: 'x' })
    const missing = await createClassClient(stranger).post('CarePlan', { ehrId: 'doesNotExist', name: 'x' })
    assertError(foreign, 101)
    assert.deepEqual([foreign.status, foreign.body], [missing.status, missing.body])
    for (const odd of ['../Ehr', 'a/b', 'nul\u0000', '$ne', 'é'])
      assertError(await createClassClient(owner).post('CarePlan', { ehrId: odd, name: 'x' }), 101)
    assertError(await createClassClient(owner).post('CarePlan', { ehrId: { $ne: null }, name: 'x' }), 142)
  })

  it('changes only the listed properties', async () => {
    const { carePlanId } = await createPlanInOwnEhr(owner)
    const change = {
      name: 'New',
      anonymous: true,
      notes: 'n',
      dueDate: parseDate('2027-01-01T00:00:00.000Z'),
    }
    const { body } = await createClassClient(owner).put('CarePlan', carePlanId, change).expect(200)
    for (const [name, value] of Object.entries(change)) assert.deepEqual(body[name], value)
    assert.equal(body.version, 2)
    assert.equal(body.ehrId, ehrId)
    assert.deepEqual((await createClassClient(owner).get('CarePlan', carePlanId)).body, body)
    const answer = await createClassClient(owner).put('CarePlan', carePlanId, {
      ehrId: 'x',
      language: 'nl',
      version: 9,
      colour: 1,
    })
    assertError(answer, 142)
    for (const path of ['ehrId', 'language', 'version', 'colour'])
      assert.match(answer.body.error, new RegExp(path))
  })

  it('may be sent back completely', async () => {
    const { carePlanId } = await createPlanInOwnEhr(owner)
    const { body } = await createClassClient(owner).get('CarePlan', carePlanId)
    const { objectId: _, createdAt: _c, updatedAt: _u, ...plan } = body
    const answer = await createClassClient(owner)
      .put('CarePlan', carePlanId, { ...plan, name: 'Renamed' })
      .expect(200)
    assert.equal(answer.body.name, 'Renamed')
    assert.equal(answer.body.version, 2)
  })

  it('may end on the day on which it starts, whichever the times, as in the path family', async () => {
    const { post, put, get } = createClassClient(owner)
    const start = parseDate('2026-01-01T10:00:00.000Z')
    const dates = { proposedStartDate: start, actualStartDate: start }
    const { objectId } = (await post('CarePlan', { ehrId, name: 'x', ...dates }).expect(201)).body
    const body = { name: 'x', proposedStartDate: '2026-01-01', actualStartDate: '2026-01-01' }
    const end = { dueDate: '2026-01-01', achievementDate: '2026-01-01' }
    assertStatus(await owner.call('PUT', `/ehr/${ehrId}/careplan/${objectId}`, { ...body, ...end }))
    const { body: plan } = await get('CarePlan', objectId).expect(200)
    assert.deepEqual(plan.proposedStartDate, start)
    await put('CarePlan', objectId, { ...plan, notes: 'x' }).expect(200)
    await put('CarePlan', objectId, { dueDate: parseDate('2026-01-01T09:00:00.000Z') }).expect(200)
    const before = { dueDate: parseDate('2025-12-31T23:59:59.999Z') }
    assertError(await put('CarePlan', objectId, before), 142, 'dueDate must not be before proposedStartDate')
  })

  it('removes properties set to null or deleted, unless they are required', async () => {
    const { carePlanId } = await createPlanInOwnEhr(owner)
    const { put } = createClassClient(owner)
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

  describe('when closed', () => {
    it('keeps its status, and allows corrections of notes, outcome and achievementDate', async () => {
      const { carePlanId } = await createPlanInOwnEhr(owner)
      const { put } = createClassClient(owner)
      const close = {
        status: 'COMPLETED',
        achievementDate: parseDate('2026-03-01T00:00:00.000Z'),
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
      assert.equal((await createClassClient(owner).get('CarePlan', carePlanId)).body.status, 'COMPLETED')
    })

    it('accepts no new records', async () => {
      const { carePlanId } = await createPlanInOwnEhr(owner)
      await createClassClient(owner).put('CarePlan', carePlanId, { status: 'CANCELLED' }).expect(200)
      const { post } = createClassClient(owner)
      assertError(await post('Goal', { ehrId, carePlanId, name: 'x' }), 142)
      assertError(await post('BloodPressure', createPressureObject(carePlanId)), 142)
      assertError(
        await createClassClient(stranger).post('BloodPressure', createPressureObject(carePlanId)),
        101,
      )
    })

    it('is closed by only one of many concurrent requests', async () => {
      const { carePlanId } = await createPlanInOwnEhr(owner)
      const statuses = ['COMPLETED', 'CANCELLED', 'COMPLETED', 'CANCELLED']
      const answers = await Promise.all(
        statuses.map((status) =>
          createClassClient(owner).put('CarePlan', carePlanId, { status, outcome: status }),
        ),
      )
      const { body } = await createClassClient(owner).get('CarePlan', carePlanId)
      for (const [i, answer] of answers.entries()) if (statuses[i] !== body.status) assertError(answer, 142)
      assert.ok(answers.some(({ status }) => status === 200))
    })
  })

  it('is invisible to strangers, in every operation', async () => {
    const { carePlanId } = await createPlanInOwnEhr(owner)
    const foreign = createClassClient(stranger)
    assertError(await foreign.get('CarePlan', carePlanId), 101)
    assertError(await foreign.put('CarePlan', carePlanId, { name: 'x' }), 101)
    assertError(await foreign.delete('CarePlan', carePlanId), 101)
    assert.deepEqual((await foreign.list('CarePlan', { objectId: carePlanId })).body.results, [])
    await createClassClient(owner).get('CarePlan', carePlanId).expect(200)
  })

  describe('with participants', () => {
    let nurse: Person
    let reader: Person

    before(async () => {
      ;[nurse, reader] = await Promise.all([createPerson(), createPerson()])
    })

    it('shows its readers the plan with its records and the EHR, but no other plan', async () => {
      const shared = await createPlanInOwnEhr(owner)
      const other = await createPlanInOwnEhr(owner)
      const { body } = await createClassClient(owner)
        .post('BloodPressure', createPressureObject(shared.carePlanId))
        .expect(201)
      await addParticipant(shared.carePlanId, reader, 'read')
      const client = createClassClient(reader)
      await client.get('CarePlan', shared.carePlanId).expect(200)
      await client.get('BloodPressure', body.objectId).expect(200)
      await client.get('Ehr', ehrId).expect(200)
      assertError(await client.get('CarePlan', other.carePlanId), 101)
      assertError(await client.put('BloodPressure', body.objectId, { systolic: 140 }), 119)
      assertError(await client.post('BloodPressure', createPressureObject(shared.carePlanId)), 119)
      assertError(await client.delete('CarePlan', shared.carePlanId), 119)
      assertError(await client.delete('Ehr', ehrId), 119)
      await createClassClient(owner).get('BloodPressure', body.objectId).expect(200)
    })

    it('lets its writers add records to it, and nowhere else', async () => {
      const shared = await createPlanInOwnEhr(owner)
      const other = await createPlanInOwnEhr(owner)
      await addParticipant(shared.carePlanId, nurse, 'write')
      const { post } = createClassClient(nurse)
      const { body } = await post('BloodPressure', createPressureObject(shared.carePlanId)).expect(201)
      await createClassClient(owner).get('BloodPressure', body.objectId).expect(200)
      assertError(await post('BloodPressure', createPressureObject(other.carePlanId)), 101)
      assertError(await post('CarePlan', { ehrId, name: 'Of the nurse' }), 119)
    })
  })

  describe('when deleted', () => {
    it('deletes its records and its roles', async () => {
      const { carePlanId } = await createPlanInOwnEhr(owner)
      const { post } = createClassClient(owner)
      await post('Goal', { ehrId, carePlanId, name: 'Goal' }).expect(201)
      await Promise.all(
        Array.from({ length: 5 }, () => post('BloodPressure', createPressureObject(carePlanId)).expect(201)),
      )
      await createClassClient(owner).delete('CarePlan', carePlanId).expect(200)
      for (const name of ['Goal', 'BloodPressure'])
        assert.equal(await countIn(name, { carePlanId, ...VISIBLE }), 0)
      assert.equal(await countIn('CarePlan', { _id: carePlanId }), 0)
      assert.equal(await countIn('_Role', { name: { $regex: carePlanId } }), 0)
      assert.equal(await countIn('_Join:roles:_Role', { relatedId: { $regex: carePlanId } }), 0)
    })

    it('leaves no records that are added concurrently', async () => {
      const { carePlanId } = await createPlanInOwnEhr(owner)
      const { post } = createClassClient(owner)
      const writers = Array.from({ length: 20 }, (_, i) =>
        i === 10
          ? createClassClient(owner).delete('CarePlan', carePlanId)
          : post('BloodPressure', createPressureObject(carePlanId)),
      )
      for (const { status } of await Promise.all(writers))
        assert.ok([200, 201, 404].includes(status), String(status))
      assert.equal(await countIn('BloodPressure', { carePlanId, ...VISIBLE }), 0)
    })

    it('is deleted by only one of many concurrent requests', async () => {
      const { carePlanId } = await createPlanInOwnEhr(owner)
      const answers = await Promise.all(
        Array.from({ length: 5 }, () => createClassClient(owner).delete('CarePlan', carePlanId)),
      )
      assert.ok(answers.some(({ status }) => status === 200))
      for (const { status } of answers) assert.ok([200, 404].includes(status), String(status))
      assert.equal(await countIn('CarePlan', { _id: carePlanId }), 0)
    })
  })
})

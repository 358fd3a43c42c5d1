import assert from 'node:assert/strict'
import { ehrOf, newPlan, newPressure } from '../../harness/care/by-class-family.ts'
import { assertError, classesOf } from '../../harness/clients/class-client.ts'
import {
  newAddress,
  newAdmin,
  newPerson,
  type Person,
  password,
  signUp,
} from '../../harness/people/people.ts'
import { config, keys, request, service } from '../../harness/service/service.ts'

const login = (email: string) => request().post('/1/login').set(keys()).send({ username: email, password })
const ehrsAbout = (subjectId: string) => service.db.collection('Ehr').find({ subjectId }).toArray()
const accept = ({ authToken }: Person, ehrId: string) =>
  request().post(`/ehr/${ehrId}/accept`).set('Authorization', `Bearer ${authToken}`).expect(200)
const countIn = (collection: string, filter: object) =>
  service.db.collection(collection).countDocuments(filter)

describe('Ehr', () => {
  let owner: Person
  let stranger: Person

  before(async () => {
    ;[owner, stranger] = await Promise.all([newPerson(), newPerson()])
  })

  describe('of an account', () => {
    it('comes with the first login, once, for the user alone', async () => {
      const user = await newPerson()
      const ehrId = await ehrOf(user)
      const { body } = await classesOf(user).get('Ehr', ehrId).expect(200)
      assert.deepEqual([body.subjectId, body.version], [user.mvUid, 1])
      assert.deepEqual(body.ACL[user.mvUid], { read: true, write: true })
      assertError(await classesOf(stranger).get('Ehr', ehrId), 101)
      await login(user.email).expect(200)
      assert.equal((await ehrsAbout(user.mvUid)).length, 1)
    })

    it('is made up for at the next logins when the first one did not get that far', async () => {
      const user = await newPerson()
      const ehrId = await ehrOf(user)
      await service.db.collection('Ehr').deleteOne({ _id: ehrId as never })
      await service.db.collection('_Role').deleteMany({ name: { $regex: `^ehr-${ehrId}` } })
      await Promise.all(Array.from({ length: 5 }, () => login(user.email).expect(200)))
      assert.equal(await ehrOf(user), ehrId)
      assert.equal(await countIn('_Role', { name: `ehr-${ehrId}-write` }), 1)
    })

    it('does not come back once it has been deleted', async () => {
      const user = await newPerson()
      await classesOf(user)
        .delete('Ehr', await ehrOf(user))
        .expect(200)
      await login(user.email).expect(200)
      assert.deepEqual(await ehrsAbout(user.mvUid), [])
    })

    it('is not for the client to name', async () => {
      assertError(await signUp(newAddress(), { ehrId: await ehrOf(owner) }), 142, /ehrId/)
      const update = request().put(`/1/users/${stranger.mvUid}`).set(stranger.headers)
      assert.notEqual((await update.send({ ehrId: await ehrOf(owner) })).status, 200)
    })
  })

  describe('created', () => {
    it('about another person reference is written by its creator, at once', async () => {
      const { body } = await classesOf(owner).post('Ehr', { subjectId: 'patient 12' }).expect(201)
      assert.equal(body.subjectId, 'patient 12')
      assert.equal(body.version, 1)
      assert.ok(body.createdAt && body.updatedAt)
      await classesOf(owner).get('Ehr', body.objectId).expect(200)
      await classesOf(owner).post('CarePlan', { ehrId: body.objectId, name: 'Plan' }).expect(201)
      assertError(await classesOf(stranger).get('Ehr', body.objectId), 101)
    })

    it('about a user is read and written by that user too, once they agree', async () => {
      const { body } = await classesOf(owner).post('Ehr', { subjectId: stranger.mvUid }).expect(201)
      assertError(await classesOf(stranger).get('Ehr', body.objectId), 101)
      assertError(await classesOf(stranger).post('CarePlan', { ehrId: body.objectId, name: 'Mine' }), 101)
      await accept(stranger, body.objectId)
      await classesOf(stranger).get('Ehr', body.objectId).expect(200)
      const plan = await classesOf(stranger)
        .post('CarePlan', { ehrId: body.objectId, name: 'Mine' })
        .expect(201)
      await classesOf(owner).get('CarePlan', plan.body.objectId).expect(200)
      await classesOf(stranger).delete('Ehr', body.objectId).expect(200)
    })

    it('is deleted by its subject, an administrator or the service, not by its creator', async () => {
      const admin = await newAdmin()
      const deleters = [
        stranger.headers,
        { ...keys(), 'X-Parse-Session-Token': admin.sessionToken },
        { ...keys(), 'X-Parse-Master-Key': config.masterKey },
      ]
      for (const headers of deleters) {
        const { objectId } = (await classesOf(owner).post('Ehr', { subjectId: stranger.mvUid }).expect(201))
          .body
        await accept(stranger, objectId)
        assertError(await classesOf(owner).delete('Ehr', objectId), 119, /^Only its subject/)
        await classesOf(owner).get('Ehr', objectId).expect(200)
        await classesOf({ headers }).delete('Ehr', objectId).expect(200)
        assertError(await classesOf(owner).get('Ehr', objectId), 101)
      }
    })

    it('is deleted by its creator while it is about nobody of the service, or about nobody who agreed', async () => {
      for (const subjectId of ['patient 14', stranger.mvUid]) {
        const { objectId } = (await classesOf(owner).post('Ehr', { subjectId }).expect(201)).body
        await classesOf(owner).delete('Ehr', objectId).expect(200)
        assertError(await classesOf(owner).get('Ehr', objectId), 101)
      }
    })

    it('is deleted by its subject instead of being agreed to', async () => {
      const { objectId } = (await classesOf(owner).post('Ehr', { subjectId: stranger.mvUid }).expect(201))
        .body
      assertError(await classesOf(await newPerson()).delete('Ehr', objectId), 101)
      await classesOf(stranger).delete('Ehr', objectId).expect(200)
      assertError(await classesOf(owner).get('Ehr', objectId), 101)
    })

    it("has the service's permissions, not the client's", async () => {
      const sent = { subjectId: 'patient 13', ACL: { '*': { read: true, write: true } } }
      const { body } = await classesOf(owner).post('Ehr', sent).expect(201)
      assert.equal(body.ACL['*'], undefined)
      assertError(await classesOf(stranger).get('Ehr', body.objectId), 101)
      assertError(await classesOf(stranger).delete('Ehr', body.objectId), 101)
    })

    it('needs a subject and nothing else', async () => {
      const { post } = classesOf(owner)
      assertError(await post('Ehr', {}), 141, 'Missing required properties: subjectId')
      assertError(await post('Ehr', { subjectId: null }), 141, 'Missing required properties: subjectId')
      assertError(
        await post('Ehr', { subjectId: 5, name: 'x' }),
        142,
        'name is not a known property; subjectId must be a string',
      )
    })
  })

  it('does not change its subject', async () => {
    const ehrId = await ehrOf(owner)
    const { put } = classesOf(owner)
    assertError(await put('Ehr', ehrId, { subjectId: stranger.mvUid }), 142, 'subjectId may not be changed')
    assertError(await put('Ehr', ehrId, { ACL: { '*': { read: true } }, subjectId: 'x' }), 142)
    const { body } = await put('Ehr', ehrId, { ACL: { '*': { read: true } } }).expect(200)
    assert.equal(body.ACL['*'], undefined)
    assertError(await classesOf(stranger).put('Ehr', ehrId, { subjectId: stranger.mvUid }), 101)
  })

  it('leaves nothing behind of what is being registered while it is deleted', async () => {
    const user = await newPerson()
    const { ehrId, carePlanId } = await newPlan(user)
    const { post } = classesOf(user)
    const work = Array.from({ length: 24 }, (_, i) => {
      if (i === 12) return classesOf(user).delete('Ehr', ehrId)
      return i % 2 ? post('CarePlan', { ehrId, name: 'x' }) : post('BloodPressure', newPressure(carePlanId))
    })
    for (const { status } of await Promise.all(work))
      assert.ok([200, 201, 404].includes(status), String(status))
    const visible = { ehrId, _rperm: { $not: { $regex: '^removed:' } } }
    for (const name of ['CarePlan', 'BloodPressure']) assert.equal(await countIn(name, visible), 0)
  })

  it('takes with it all that is registered under it', async () => {
    const user = await newPerson()
    const { ehrId, carePlanId } = await newPlan(user)
    const { post } = classesOf(user)
    await post('Goal', { ehrId, carePlanId, name: 'Goal' }).expect(201)
    await post('BloodPressure', newPressure(carePlanId)).expect(201)
    await post('Custom', { ehrId, carePlanId, modelClassName: 'Model' }).expect(201)
    await classesOf(user).delete('Ehr', ehrId).expect(200)
    for (const name of ['CarePlan', 'Goal', 'BloodPressure', 'Custom'])
      assert.deepEqual((await classesOf(user).list(name).expect(200)).body.results, [])
    assert.equal(await countIn('Ehr', { _id: ehrId }), 0)
    assertError(await post('Goal', { ehrId, carePlanId, name: 'Goal' }), 101)
    assertError(await classesOf(user).delete('Ehr', ehrId), 101)
  })
})

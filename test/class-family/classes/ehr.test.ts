import assert from 'node:assert/strict'
import { createPlanInOwnEhr, createPressureObject, ehrOf } from '../../harness/care/by-class-family.ts'
import { assertError, createClassClient } from '../../harness/clients/class-client.ts'
import {
  createAddress,
  createAdmin,
  createPerson,
  type Person,
  password,
  signUp,
} from '../../harness/people/people.ts'
import { apiKeys, config, request, service } from '../../harness/service/service.ts'

const login = (email: string) => request().post('/1/login').set(apiKeys()).send({ username: email, password })
const ehrsAbout = (subjectId: string) => service.db.collection('Ehr').find({ subjectId }).toArray()
const accept = ({ authToken }: Person, ehrId: string) =>
  request().post(`/ehr/${ehrId}/accept`).set('Authorization', `Bearer ${authToken}`).expect(200)
const countIn = (collection: string, filter: object) =>
  service.db.collection(collection).countDocuments(filter)

describe('Ehr', () => {
  let owner: Person
  let stranger: Person

  before(async () => {
    ;[owner, stranger] = await Promise.all([createPerson(), createPerson()])
  })

  describe('of an account', () => {
    it('is created at the first login, once, for the user alone', async () => {
      const user = await createPerson()
      const ehrId = await ehrOf(user)
      const { body } = await createClassClient(user).get('Ehr', ehrId).expect(200)
      assert.deepEqual([body.subjectId, body.version], [user.mvUid, 1])
      assert.deepEqual(body.ACL[user.mvUid], { read: true, write: true })
      const [listed] = (await createClassClient(user).list('Ehr').expect(200)).body.results
      for (const object of [body, listed]) assert.ok(!('className' in object), 'as objects of other classes')
      assertError(await createClassClient(stranger).get('Ehr', ehrId), 101)
      await login(user.email).expect(200)
      assert.equal((await ehrsAbout(user.mvUid)).length, 1)
    })

    it('is created at a later login if the first one failed halfway', async () => {
      const user = await createPerson()
      const ehrId = await ehrOf(user)
      await service.db.collection('Ehr').deleteOne({ _id: ehrId as never })
      await service.db.collection('_Role').deleteMany({ name: { $regex: `^ehr-${ehrId}` } })
      await Promise.all(Array.from({ length: 5 }, () => login(user.email).expect(200)))
      assert.equal(await ehrOf(user), ehrId)
      assert.equal(await countIn('_Role', { name: `ehr-${ehrId}-write` }), 1)
    })

    it('is not created again after its deletion', async () => {
      const user = await createPerson()
      await createClassClient(user)
        .delete('Ehr', await ehrOf(user))
        .expect(200)
      await login(user.email).expect(200)
      assert.deepEqual(await ehrsAbout(user.mvUid), [])
    })

    it('cannot be named by the client', async () => {
      assertError(await signUp(createAddress(), { ehrId: await ehrOf(owner) }), 142, /ehrId/)
      const update = request().put(`/1/users/${stranger.mvUid}`).set(stranger.headers)
      assert.notEqual((await update.send({ ehrId: await ehrOf(owner) })).status, 200)
    })
  })

  describe('created', () => {
    it('belongs to its creator at once if it is about an external person', async () => {
      const { body } = await createClassClient(owner).post('Ehr', { subjectId: 'patient 12' }).expect(201)
      assert.equal(body.subjectId, 'patient 12')
      assert.equal(body.version, 1)
      assert.ok(body.createdAt && body.updatedAt)
      await createClassClient(owner).get('Ehr', body.objectId).expect(200)
      await createClassClient(owner).post('CarePlan', { ehrId: body.objectId, name: 'Plan' }).expect(201)
      assertError(await createClassClient(stranger).get('Ehr', body.objectId), 101)
    })

    it('is open to the user whom it is about, too, once they agree', async () => {
      const { body } = await createClassClient(owner).post('Ehr', { subjectId: stranger.mvUid }).expect(201)
      assertError(await createClassClient(stranger).get('Ehr', body.objectId), 101)
      assertError(
        await createClassClient(stranger).post('CarePlan', { ehrId: body.objectId, name: 'Mine' }),
        101,
      )
      await accept(stranger, body.objectId)
      await createClassClient(stranger).get('Ehr', body.objectId).expect(200)
      const plan = await createClassClient(stranger)
        .post('CarePlan', { ehrId: body.objectId, name: 'Mine' })
        .expect(201)
      await createClassClient(owner).get('CarePlan', plan.body.objectId).expect(200)
      await createClassClient(stranger).delete('Ehr', body.objectId).expect(200)
    })

    it('can be deleted by its subject, an administrator or the service, but not by its creator', async () => {
      const admin = await createAdmin()
      const deleters = [
        stranger.headers,
        { ...apiKeys(), 'X-Parse-Session-Token': admin.sessionToken },
        { ...apiKeys(), 'X-Parse-Master-Key': config.masterKey },
      ]
      for (const headers of deleters) {
        const { objectId } = (
          await createClassClient(owner).post('Ehr', { subjectId: stranger.mvUid }).expect(201)
        ).body
        await accept(stranger, objectId)
        assertError(await createClassClient(owner).delete('Ehr', objectId), 119, /^Only the subject/)
        await createClassClient(owner).get('Ehr', objectId).expect(200)
        await createClassClient({ headers }).delete('Ehr', objectId).expect(200)
        assertError(await createClassClient(owner).get('Ehr', objectId), 101)
      }
    })

    it('can be deleted by its creator while its subject is not a user, or has not agreed', async () => {
      for (const subjectId of ['patient 14', stranger.mvUid]) {
        const { objectId } = (await createClassClient(owner).post('Ehr', { subjectId }).expect(201)).body
        await createClassClient(owner).delete('Ehr', objectId).expect(200)
        assertError(await createClassClient(owner).get('Ehr', objectId), 101)
      }
    })

    it('can be deleted by its subject instead of agreement', async () => {
      const { objectId } = (
        await createClassClient(owner).post('Ehr', { subjectId: stranger.mvUid }).expect(201)
      ).body
      assertError(await createClassClient(await createPerson()).delete('Ehr', objectId), 101)
      await createClassClient(stranger).delete('Ehr', objectId).expect(200)
      assertError(await createClassClient(owner).get('Ehr', objectId), 101)
    })

    it("has the service's permissions, not the client's", async () => {
      const ehr = { subjectId: 'patient 13' }
      const ACL = { '*': { read: true, write: true } }
      assertError(await createClassClient(owner).post('Ehr', { ...ehr, ACL }), 142, /^ACL must not be set/)
      const { body } = await createClassClient(owner).post('Ehr', ehr).expect(201)
      assert.equal(body.ACL['*'], undefined)
      assertError(await createClassClient(stranger).get('Ehr', body.objectId), 101)
      assertError(await createClassClient(stranger).delete('Ehr', body.objectId), 101)
    })

    it('requires a subject and nothing else', async () => {
      const { post } = createClassClient(owner)
      assertError(await post('Ehr', {}), 141, 'Missing required properties: subjectId')
      assertError(await post('Ehr', { subjectId: null }), 141, 'Missing required properties: subjectId')
      assertError(
        await post('Ehr', { subjectId: 5, name: 'x' }),
        142,
        'name is not a known property; subjectId must be a string',
      )
    })
  })

  it('keeps its subject', async () => {
    const ehrId = await ehrOf(owner)
    const { put } = createClassClient(owner)
    assertError(await put('Ehr', ehrId, { subjectId: stranger.mvUid }), 142, 'subjectId cannot be changed')
    assertError(await put('Ehr', ehrId, { ACL: { '*': { read: true } }, subjectId: 'x' }), 142)
    assertError(await put('Ehr', ehrId, { ACL: { '*': { read: true } } }), 142, /^ACL must not be set/)
    assertError(await createClassClient(stranger).put('Ehr', ehrId, { subjectId: stranger.mvUid }), 101)
  })

  it('leaves no records that are added during its deletion', async () => {
    const user = await createPerson()
    const { ehrId, carePlanId } = await createPlanInOwnEhr(user)
    const { post } = createClassClient(user)
    const work = Array.from({ length: 24 }, (_, i) => {
      if (i === 12) return createClassClient(user).delete('Ehr', ehrId)
      return i % 2
        ? post('CarePlan', { ehrId, name: 'x' })
        : post('BloodPressure', createPressureObject(carePlanId))
    })
    for (const { status } of await Promise.all(work))
      assert.ok([200, 201, 404].includes(status), String(status))
    const visible = { ehrId, _rperm: { $not: { $regex: '^removed:' } } }
    for (const name of ['CarePlan', 'BloodPressure']) assert.equal(await countIn(name, visible), 0)
  })

  it('deletes all records in it', async () => {
    const user = await createPerson()
    const { ehrId, carePlanId } = await createPlanInOwnEhr(user)
    const { post } = createClassClient(user)
    await post('Goal', { ehrId, carePlanId, name: 'Goal' }).expect(201)
    await post('BloodPressure', createPressureObject(carePlanId)).expect(201)
    await post('Custom', { ehrId, carePlanId, modelClassName: 'Model' }).expect(201)
    await createClassClient(user).delete('Ehr', ehrId).expect(200)
    for (const name of ['CarePlan', 'Goal', 'BloodPressure', 'Custom'])
      assert.deepEqual((await createClassClient(user).list(name).expect(200)).body.results, [])
    assert.equal(await countIn('Ehr', { _id: ehrId }), 0)
    assertError(await post('Goal', { ehrId, carePlanId, name: 'Goal' }), 101)
    assertError(await createClassClient(user).delete('Ehr', ehrId), 101)
  })
})

import assert from 'node:assert/strict'
import { createPlanInOwnEhr, createPressureObject, ehrOf } from '../../harness/care/by-class-family.ts'
import { createClassClient, parseDate } from '../../harness/clients/class-client.ts'
import { createPerson, type Person } from '../../harness/people/people.ts'
import { config, request, service } from '../../harness/service/service.ts'

/**
 * Reads without showing an object, which must not bypass the audit: pointers, subqueries, values, counts, odd
 * paths, the master key.
 */
describe('the audit of the class family for responses without objects of the class', () => {
  let patient: Person
  let stranger: Person
  let ehrId: string
  let carePlanId: string
  let pressureId: string
  let customId: string

  before(async () => {
    ;[patient, stranger] = await Promise.all([createPerson(), createPerson()])
    ;({ ehrId, carePlanId } = await createPlanInOwnEhr(patient))
    const mine = createClassClient(patient)
    pressureId = (await mine.post('BloodPressure', createPressureObject(carePlanId)).expect(201)).body
      .objectId
    const pointer = { __type: 'Pointer', className: 'BloodPressure', objectId: pressureId }
    const custom = { ehrId, carePlanId, modelClassName: 'Mood', payload: { pointer, systolic: 128 } }
    customId = (await mine.post('Custom', custom).expect(201)).body.objectId
  })

  /** The audit lines that some work leaves in the patient's EHR: `query BloodPressure done <ids> <asked>`. */
  async function linesOf(work: () => PromiseLike<unknown>): Promise<string[]> {
    const entries = service.db.collection('audit.entries')
    const since = await entries.countDocuments({ ehrId })
    await work()
    const audited = await entries.find({ ehrId }).sort({ at: 1, _id: 1 }).toArray()
    return audited
      .slice(since)
      .map(({ action, type, outcome = 'done', ids, asked = '' }) =>
        `${action} ${type} ${outcome} ${ids} ${asked}`.trim(),
      )
      .sort()
  }

  const get = (path: string, query: Record<string, unknown> = {}, user = patient) =>
    request()
      .get(`/1/${path}`)
      .set(user.headers)
      .query(
        Object.fromEntries(
          Object.entries(query).map(([k, v]) => [k, typeof v === 'object' ? JSON.stringify(v) : v]),
        ),
      )

  it('logs objects that are included through a pointer', async () => {
    const expectedLines = [`read BloodPressure done ${pressureId}`, `read Custom done ${customId}`]
    const queries = [
      { include: 'payload.pointer' },
      { keys: 'payload.pointer.systolic' },
      { excludeKeys: 'payload.pointer.diastolic' },
    ]
    for (const query of queries) {
      const lines = await linesOf(async () => {
        const { body } = await get(`classes/Custom/${customId}`, query).expect(200)
        assert.equal(body.payload.pointer.systolic, 128)
      })
      assert.deepEqual(lines, expectedLines)
    }
    const lines = await linesOf(() => get('classes/Custom', { include: 'payload.pointer' }).expect(200))
    assert.deepEqual(lines, [`query BloodPressure done ${pressureId}`, `query Custom done ${customId}`])
    assert.deepEqual(await linesOf(() => get(`classes/Custom/${customId}`).expect(200)), [expectedLines[1]])
  })

  it('logs subqueries at any depth', async () => {
    const where = { systolic: { $gt: 120 } }
    const query = { className: 'BloodPressure', where }
    const line = 'query BloodPressure done  systolic'
    const lines = (className: string, condition: object) =>
      linesOf(() => get(className, { where: condition, limit: 10 }).expect(200))
    const select = { 'payload.systolic': { $select: { key: 'systolic', query } } }
    assert.deepEqual(await lines('classes/Custom', select), [
      line,
      `query Custom done ${customId} payload.systolic`,
    ])
    const inQuery = { $or: [{ 'payload.pointer': { $inQuery: query } }, { modelClassName: 'x' }] }
    assert.deepEqual(await lines('classes/Custom', inQuery), [
      line,
      `query Custom done ${customId} modelClassName payload.pointer`,
    ])
    const nested = { objectId: { $select: { key: 'carePlanId', query } } }
    const deep = {
      carePlanId: { $select: { key: 'objectId', query: { className: 'CarePlan', where: nested } } },
    }
    assert.deepEqual(await lines('classes/Goal', deep), [
      line,
      'query CarePlan done  objectId',
      'query Goal done  carePlanId',
    ])
    const ofUsers = { username: { $select: { key: 'systolicUnit', query } } }
    assert.deepEqual(await lines('users', ofUsers), [line])
    const strange = { objectId: { $select: { key: 'carePlanId', query } } }
    assert.deepEqual(
      await linesOf(() => get('classes/CarePlan', { where: strange }, stranger).expect(200)),
      [],
    )
  })

  it('logs whose values and counts were returned', async () => {
    const where = { systolic: { $gt: 120 } }
    const entry = ['query BloodPressure done  systolic']
    for (const query of [{ distinct: 'systolic' }, { count: 1, limit: 0 }])
      assert.deepEqual(
        await linesOf(() => get('classes/BloodPressure', { where, ...query }).expect(200)),
        entry,
      )
    const lines = await linesOf(() => get('classes/BloodPressure', { where, count: 1 }).expect(200))
    assert.deepEqual(lines, [`query BloodPressure done ${pressureId} systolic`])
    assert.deepEqual(await linesOf(() => get('classes/Ehr', { distinct: 'subjectId' }).expect(200)), [
      `query Ehr done ${ehrId}`,
    ])
  })

  it("logs a stranger's query in a care plan, without naming the EHR", async () => {
    const theirs = createClassClient(stranger)
    const linesAbout = async (where: object) =>
      linesOf(() => get('classes/Goal', { where }, stranger).expect(200))
    assert.deepEqual(await linesAbout({ carePlanId }), ['query Goal denied  carePlanId'])
    assert.deepEqual(await linesAbout({ carePlanId: { $in: [carePlanId, 'x'] } }), [
      'query Goal denied  carePlanId',
    ])
    assert.deepEqual(await linesAbout({ ehrId: { $in: [ehrId] } }), ['query Goal denied  ehrId'])
    assert.deepEqual(await linesAbout({ $or: [{ name: 'x' }, { $and: [{ ehrId }] }] }), [
      'query Goal denied  ehrId name',
    ])
    const lines = await linesOf(() =>
      theirs.post('BloodPressure', createPressureObject(carePlanId)).expect(404),
    )
    assert.deepEqual(lines, ['create BloodPressure denied'])
    const encoded = `%${carePlanId.charCodeAt(0).toString(16)}${carePlanId.slice(1)}`
    const read = await linesOf(() => theirs.get('CarePlan', encoded).expect(404))
    assert.deepEqual(read, [`read CarePlan denied ${carePlanId}`])
  })

  it('logs the parts of a batch under the routes that Parse gives them', async () => {
    const paths = ['/1/./classes/CarePlan/', '/1classes/CarePlan/', '/1/classes/./CarePlan/']
    const requests = paths.map((path) => ({ method: 'GET', path: path + carePlanId }))
    const lines = await linesOf(() =>
      request().post('/1/batch').set(patient.headers).send({ requests }).expect(200),
    )
    assert.deepEqual(lines, [`read CarePlan done ${carePlanId}`])
    const body = { where: { name: { $regex: '(a)\\1' } } }
    const unsafe = { requests: [{ method: 'GET', path: '/1/./classes/CarePlan', body }] }
    const { body: answers } = await request().post('/1/batch').set(patient.headers).send(unsafe).expect(200)
    assert.equal(answers[0].error.code, 102)
    const nested = { requests: [...requests.slice(0, 2), { method: 'POST', path: '/1/batch', body: {} }] }
    const refusalLines = await linesOf(() =>
      request().post('/1/batch').set(patient.headers).send(nested).expect(400),
    )
    assert.deepEqual(refusalLines, [`read CarePlan refused ${carePlanId}`])
  })

  it('logs reads with the master key, which opens no other route', async () => {
    const { 'X-Parse-Session-Token': _, ...keys } = patient.headers
    const master = { ...keys, 'X-Parse-Master-Key': config.masterKey }
    const read = await linesOf(() =>
      request().get(`/1/classes/CarePlan/${carePlanId}`).set(master).expect(200),
    )
    assert.deepEqual(read, [`read CarePlan done ${carePlanId}`])
    const { body } = await request().get('/1/classes/_User').set(master).expect(200)
    assert.ok(body.results.length > 0)
    for (const path of [
      'aggregate/CarePlan',
      'classes/audit.entries',
      'classes/plan.settings',
      'hooks/triggers',
      'schemas',
    ])
      await request().get(`/1/${path}`).set(master).expect(400)
    await request().delete('/1/purge/Custom').set(master).expect(400)
    const requests = [{ method: 'GET', path: '/1/aggregate/CarePlan' }]
    const { body: answers } = await request().post('/1/batch').set(master).send({ requests }).expect(200)
    assert.equal(answers[0].error.code, 119)
  })

  it('cannot be made to log objects that were not returned', async () => {
    const forged = { __type: 'Object', className: 'CarePlan', objectId: carePlanId }
    const ownEhr = await ehrOf(stranger)
    const event = { ehrId: ownEhr, type: 'visit', title: 'x', start: parseDate('2026-01-02T03:04:05.000Z') }
    await createClassClient(stranger)
      .post('Event', { ...event, data: { forged } })
      .expect(400)
    const login = await request()
      .post('/auth/login/password')
      .send({ email: stranger.email, password: stranger.password })
      .expect(200)
    await request()
      .post(`/med/${ownEhr}/event`)
      .set('Authorization', `Bearer ${login.body.authToken}`)
      .send({ type: 'visit', title: 'x', start: '2026-01-02T03:04:05Z', data: { list: [forged] } })
      .expect(422)
  })
})

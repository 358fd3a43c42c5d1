import assert from 'node:assert/strict'
import { loadSdk } from '../../harness/clients/class-client.ts'
import { createPerson, type Person } from '../../harness/people/people.ts'
import { request } from '../../harness/service/service.ts'

describe('class family: distinct', () => {
  let user: Person
  before(async () => {
    user = await createPerson()
    const [ehr] = (await request().get('/1/classes/Ehr').set(user.headers)).body.results
    const ehrId = ehr.objectId
    const plan = await request()
      .post('/1/classes/CarePlan')
      .set(user.headers)
      .send({ ehrId, name: 'plan' })
      .expect(201)
    const carePlanId = plan.body.objectId
    for (const [model, score] of [
      ['Mood', 3],
      ['Sleep', 1],
      ['Mood', 2],
      ['Pain', 3],
      ['Sleep', 1],
    ] as const)
      await request()
        .post('/1/classes/Custom')
        .set(user.headers)
        .send({ ehrId, carePlanId, modelClassName: model, payload: { score, tags: [model, 'all'] } })
        .expect(201)
  })

  const distinct = async (query: Record<string, unknown>) => {
    const { status, body } = await request().get('/1/classes/Custom').set(user.headers).query(query)
    assert.equal(status, 200, JSON.stringify(body))
    return body
  }

  it('returns the unique values of a field, of a payload property and of list elements', async () => {
    assert.deepEqual((await distinct({ distinct: 'modelClassName', order: 'modelClassName' })).results, [
      'Mood',
      'Pain',
      'Sleep',
    ])
    assert.deepEqual(
      (await distinct({ distinct: 'payload.score', order: 'payload.score' })).results,
      [1, 2, 3],
    )
    assert.deepEqual((await distinct({ distinct: 'payload.tags', order: 'payload.tags' })).results, [
      'Mood',
      'Pain',
      'Sleep',
      'all',
    ])
  })

  it('returns objects and lists as they are stored', async () => {
    const [ehr] = (await request().get('/1/classes/Ehr').set(user.headers)).body.results
    const carePlanId = (await distinct({ distinct: 'carePlanId' })).results[0]
    const free = { _id: 1, objectId: 'x', _rperm: [], createdAt: { a: [{ _id: 2 }] } }
    const payload = { free, lists: [[1, { _id: 3 }], []] }
    const body = { ehrId: ehr.objectId, carePlanId, modelClassName: 'Objects', payload }
    await request().post('/1/classes/Custom').set(user.headers).send(body).expect(201)
    const where = JSON.stringify({ modelClassName: 'Objects' })
    for (const [field, results] of [
      ['payload', [payload]],
      ['payload.free', [free]],
      ['payload.lists', payload.lists.toReversed()],
    ] as const)
      assert.deepEqual((await distinct({ distinct: field, where })).results, results)
    const custom = (await request().get('/1/classes/Custom').set(user.headers).query({ where })).body
      .results[0]
    await request().delete(`/1/classes/Custom/${custom.objectId}`).set(user.headers).expect(200)
  })

  it('respects where, order, limit, skip and count', async () => {
    const where = JSON.stringify({ 'payload.score': { $gte: 2 } })
    assert.deepEqual(
      (await distinct({ distinct: 'modelClassName', where, order: '-modelClassName' })).results,
      ['Pain', 'Mood'],
    )
    const paged = await distinct({
      distinct: 'modelClassName',
      order: 'modelClassName',
      skip: 1,
      limit: 1,
      count: 1,
    })
    assert.deepEqual(paged, { results: ['Pain'], count: 3 })
    assert.deepEqual(await distinct({ distinct: 'modelClassName', limit: 0, count: 1 }), {
      results: [],
      count: 3,
    })
  })

  it('returns dates as dates', async () => {
    const { results } = await distinct({ distinct: 'createdAt', order: 'createdAt' })
    assert.equal(results.length, 5)
    for (const date of results) assert.ok(!Number.isNaN(Date.parse(date.iso ?? date)))
  })

  it('works through the SDK', async () => {
    const Parse = loadSdk()
    const answer = await Parse.CoreManager.getRESTController().request(
      'GET',
      'classes/Custom',
      { distinct: 'modelClassName', order: 'modelClassName' },
      { sessionToken: user.sessionToken },
    )
    assert.deepEqual((answer as { results: unknown }).results, ['Mood', 'Pain', 'Sleep'])
  })

  it('reveals nothing about objects of others', async () => {
    const stranger = await createPerson()
    const { body } = await request()
      .get('/1/classes/Custom')
      .set(stranger.headers)
      .query({ distinct: 'modelClassName', count: 1 })
    assert.deepEqual(body, { results: [], count: 0 })
  })

  it('refuses values that take more than 16 MB', async () => {
    const large = await createPerson()
    const [ehr] = (await request().get('/1/classes/Ehr').set(large.headers)).body.results
    const { objectId: carePlanId } = (
      await request()
        .post('/1/classes/CarePlan')
        .set(large.headers)
        .send({ ehrId: ehr.objectId, name: 'plan' })
        .expect(201)
    ).body
    for (let n = 0; n < 18; n++)
      await request()
        .post('/1/classes/Custom')
        .set(large.headers)
        .send({
          ehrId: ehr.objectId,
          carePlanId,
          modelClassName: 'Text',
          payload: { n, text: `${n},`.repeat(490_000).slice(0, 980_000) },
        })
        .expect(201)
    const readTexts = (where: object) =>
      request()
        .get('/1/classes/Custom')
        .set(large.headers)
        .query({ distinct: 'payload.text', limit: 1, where: JSON.stringify(where) })
    const { status, body } = await readTexts({})
    assert.deepEqual([status, body.code], [400, 102], JSON.stringify(body))
    assert.match(body.error, /more than 16 MB. Narrow the conditions/)
    assert.equal((await readTexts({ 'payload.n': { $lt: 2 } })).body.results.length, 1)
  })

  it('refuses protected, internal and unknown fields, and an order by another field', async () => {
    const invalidQueries: [string, Record<string, unknown>][] = [
      ['Custom', { distinct: '_rperm' }],
      ['Custom', { distinct: '_acl' }],
      ['Custom', { distinct: 'ACL' }],
      ['Custom', { distinct: 'nonsense' }],
      ['Custom', { distinct: '$where' }],
      ['Custom', { distinct: 'payload.$x' }],
      ['Custom', { distinct: '' }],
      ['Custom', { distinct: 'modelClassName', order: 'createdAt' }],
      ['_User', { distinct: 'email' }],
      ['_User', { distinct: 'authData' }],
      ['_User', { distinct: '_hashed_password' }],
      ['_User', { distinct: 'password' }],
      ['_User', { distinct: 'sessionToken' }],
      ['_User', { distinct: 'email.x' }],
      ['_User', { order: 'email' }],
    ]
    for (const [className, query] of invalidQueries) {
      const { status, body } = await request().get(`/1/classes/${className}`).set(user.headers).query(query)
      assert.equal(status, 400, JSON.stringify([query, body]))
      assert.equal(body.code, 102)
    }
  })
})

import assert from 'node:assert/strict'
import { createPerson, type Person } from '../../harness/people/people.ts'
import { measureProcessorTime } from '../../harness/service/processor-time.ts'
import { apiKeys, config, request } from '../../harness/service/service.ts'

describe('class family: lists', () => {
  let user: Person
  let ehrId: string
  let carePlanId: string
  const names = ['a', 'b', 'c', 'd', 'e']

  before(async () => {
    user = await createPerson()
    const ehrs = await request().get('/1/classes/Ehr').set(user.headers).expect(200)
    ehrId = ehrs.body.results[0].objectId
    const plan = await create('CarePlan', { ehrId, name: 'plan' })
    carePlanId = plan.objectId
    for (const [i, name] of names.entries())
      await create('Custom', {
        ehrId,
        carePlanId,
        modelClassName: 'Mood',
        payload: { name, score: i, deep: { odd: i % 2 } },
      })
  })

  async function create(className: string, body: object) {
    const answer = await request().post(`/1/classes/${className}`).set(user.headers).send(body)
    assert.equal(answer.status, 201, JSON.stringify(answer.body))
    return answer.body
  }

  /** The same list in the three forms in which clients request it. */
  async function list(parameters: Record<string, unknown>) {
    const text = (value: unknown) => (typeof value === 'object' ? JSON.stringify(value) : String(value))
    const query = Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, text(value)]))
    const inQuery = await request().get('/1/classes/Custom').set(user.headers).query(query)
    const inBody = await request()
      .post('/1/classes/Custom')
      .set('Content-Type', 'text/plain')
      .send(
        JSON.stringify({
          ...parameters,
          _method: 'GET',
          _ApplicationId: config.applicationId,
          _JavaScriptKey: config.javascriptKey,
          _SessionToken: user.sessionToken,
        }),
      )
    assert.equal(inBody.status, inQuery.status, JSON.stringify([parameters, inQuery.body, inBody.body]))
    assert.deepEqual(inBody.body, inQuery.body)
    return inQuery
  }
  const moods = async (parameters: Record<string, unknown>) => {
    const { status, body } = await list(parameters)
    assert.equal(status, 200, JSON.stringify(body))
    return body.results.map((object: { payload: { name: string } }) => object.payload.name)
  }

  it('filter, sort and page', async () => {
    assert.deepEqual(await moods({ where: { modelClassName: 'Mood' }, order: 'createdAt' }), names)
    assert.deepEqual(await moods({ where: { 'payload.score': { $gte: 3 } }, order: 'createdAt' }), ['d', 'e'])
    assert.deepEqual(await moods({ where: { 'payload.deep.odd': 1 }, order: 'createdAt' }), ['b', 'd'])
    assert.deepEqual(await moods({ order: '-createdAt', limit: 2, skip: 1 }), ['d', 'c'])
    assert.deepEqual(await moods({ where: { 'payload.name': { $regex: '^\\Qb\\E' } } }), ['b'])
    assert.deepEqual(
      await moods({ where: { $or: [{ 'payload.score': 0 }, { 'payload.name': 'e' }] }, order: 'createdAt' }),
      ['a', 'e'],
    )
  })

  it('compare dates given as Date objects', async () => {
    const past = { __type: 'Date', iso: '2001-01-01T00:00:00.000Z' }
    assert.equal((await moods({ where: { createdAt: { $gte: past } } })).length, 5)
    assert.equal((await moods({ where: { createdAt: { $lt: past } } })).length, 0)
  })

  it('count, with and without results', async () => {
    const alone = await list({ count: 1, limit: 0 })
    assert.deepEqual(alone.body, { results: [], count: 5 })
    const page = await list({ count: 1, limit: 2, where: { 'payload.score': { $lt: 3 } } })
    assert.equal(page.body.count, 3)
    assert.equal(page.body.results.length, 2)
    assert.equal((await list({ count: 0 })).body.count, undefined)
  })

  it('return 100 objects by default and at most 1000', async () => {
    const many = 105
    for (let i = 0; i < many; i += 35) {
      const requests = Array.from({ length: 35 }, () => ({
        method: 'POST',
        path: '/1/classes/Custom',
        body: { ehrId, carePlanId, modelClassName: 'Many' },
      }))
      await request().post('/1/batch').set(user.headers).send({ requests }).expect(200)
    }
    const where = { modelClassName: 'Many' }
    assert.equal((await list({ where })).body.results.length, 100)
    assert.equal((await list({ where, limit: 5000 })).body.results.length, many)
  })

  it('include and exclude fields', async () => {
    const picked = await list({ keys: 'modelClassName', limit: 1 })
    assert.equal(picked.body.results[0].modelClassName !== undefined, true)
    assert.equal(picked.body.results[0].ehrId, undefined)
    const left = await list({ excludeKeys: 'payload', limit: 1 })
    assert.equal(left.body.results[0].payload, undefined)
  })

  const deep = (depth: number): object => (depth === 0 ? { modelClassName: 'x' } : { $or: [deep(depth - 1)] })
  const bad: Record<string, Record<string, unknown>> = {
    'limit=abc': { limit: 'abc' },
    'a negative limit': { limit: -1 },
    'a broken limit': { limit: 1.5 },
    'an endless limit': { limit: '1e400' },
    'a negative skip': { skip: -1 },
    'skip=abc': { skip: 'abc' },
    'count=abc': { count: 'abc' },
    'order by nothing known': { order: 'nonsense' },
    'order by an internal field': { order: '_rperm' },
    'order by ACL': { order: 'ACL' },
    'order by an operator': { order: '$where' },
    'where is not JSON': { where: '{"a":' },
    'where is a list': { where: [] },
    'where is a number': { where: 5 },
    $where: { where: { $where: 'sleep(1000)' } },
    'a nested $where': { where: { $or: [{ $where: '1' }] } },
    'an unknown operator': { where: { modelClassName: { $explode: 1 } } },
    'an operator in a value': { where: { payload: { a: { $gt: '' } } } },
    $expr: { where: { $expr: { $gt: ['$a', '$b'] } } },
    $function: { where: { modelClassName: { $function: 'x' } } },
    'a text search': { where: { modelClassName: { $text: { $search: { $term: 'x' } } } } },
    'too deep': { where: deep(11) },
    'too long a text': { where: { modelClassName: 'x'.repeat(10_001) } },
    'an internal field': { where: { _rperm: '*' } },
    'a dotted internal field': { where: { 'payload.$where': 1 } },
    'an invalid regex': { where: { modelClassName: { $regex: '(' } } },
    'a regex that looks ahead': { where: { modelClassName: { $regex: '(?=a)b' } } },
    'a regex that refers back': { where: { modelClassName: { $regex: '(a)\\1' } } },
    'a regex of a class without members': { where: { modelClassName: { $regex: '[z-a]' } } },
    'a regex with a null character': { where: { modelClassName: { $regex: '\u0000' } } },
    'a regex that is an object': { where: { modelClassName: { $regex: { $gt: '' } } } },
    'bad regex options': { where: { modelClassName: { $regex: 'a', $options: 'z' } } },
    '$in without a list': { where: { modelClassName: { $in: 'x' } } },
    '$in with 1,001 values': { where: { modelClassName: { $in: Array(1001).fill('x') } } },
    '$or without a list': { where: { $or: 'x' } },
    'an empty $or': { where: { $or: [] } },
    '$exists without a boolean': { where: { modelClassName: { $exists: 'x' } } },
    'an unknown parameter': { nonsense: 1 },
    'invalid keys': { keys: '$x' },
    'an invalid Date': { where: { createdAt: { $gt: { __type: 'Date', iso: 'yesterday' } } } },
  }
  for (const [name, parameters] of Object.entries(bad)) {
    it(`refuse ${name} with 400 and a code, in every form`, async () => {
      const { status, body } = await list(parameters)
      assert.equal(status, 400, JSON.stringify(body))
      assert.ok([102, 107].includes(body.code), JSON.stringify(body))
      const batched = await request()
        .post('/1/batch')
        .set(user.headers)
        .send({ requests: [{ method: 'GET', path: '/1/classes/Custom', body: parameters }] })
      assert.deepEqual(batched.body, [{ error: body }])
    })
  }

  it('refuse a too large condition', async () => {
    const wide = (depth: number): object =>
      depth === 0 ? { modelClassName: 'x' } : { $or: Array.from({ length: 8 }, () => wide(depth - 1)) }
    const { status, body } = await request()
      .post('/1/classes/Custom')
      .set(user.headers)
      .send({ _method: 'GET', where: wide(4) })
    assert.equal(status, 400)
    assert.equal(body.code, 102)
  })

  it('refuse a repeated parameter', async () => {
    for (const query of ['limit=1&limit=2', 'where[a]=1&where=2', 'order[]=a&order[]=$b', 'skip[$gt]=1']) {
      const { status, body } = await request().get(`/1/classes/Custom?${query}`).set(user.headers)
      assert.equal(status, 400, query)
      assert.equal(typeof body.code, 'number')
    }
  })

  it('answer a million-character where without delay', async () => {
    const where = { modelClassName: { $in: Array.from({ length: 90_000 }, (_, i) => `value${i}`) } }
    const ask = request()
      .post('/1/classes/Custom')
      .set(user.headers)
      .send({ _method: 'GET', where: JSON.stringify(where).slice(0, 1_000_000) })
    const ms = await measureProcessorTime(async () => {
      const { status } = await ask
      assert.ok([400, 413].includes(status), String(status))
    })
    assert.ok(ms < 2_000, String(ms))
  })

  it('refuse unknown classes, unknown fields and internal classes in the same way', async () => {
    for (const path of [
      'NoSuchClass',
      '_Role',
      '_Hooks',
      '_SCHEMA',
      '_GlobalConfig',
      '_Idempotency',
      '_Installation',
    ]) {
      const { status, body } = await request().get(`/1/classes/${path}`).set(user.headers)
      assert.equal(status, 400, path)
      assert.equal(body.code, 119, path)
    }
  })

  const noField = (use: string, name = 'nmae', className = 'Custom') =>
    `${className} has no field "${name}" to ${use}.`
  const nested = (where: object, more: object = {}) => ({
    where: { carePlanId: { $select: { key: 'objectId', query: { className: 'CarePlan', where, ...more } } } },
  })
  const unknownNames: [parameters: Record<string, unknown>, error: string][] = [
    [{ order: 'createdAt,-nmae' }, noField('sort by')],
    [{ distinct: 'nmae' }, noField('use with distinct')],
    [{ where: { nmae: 1 } }, noField('search by')],
    [{ where: { 'nmae.score': 1 } }, noField('search by', 'nmae.score')],
    [{ where: { 'modelClassName.part': 1 } }, noField('search by', 'modelClassName.part')],
    [{ where: { $or: [{ ehrId: 'x' }, { $and: [{ nmae: { $exists: false } }] }] } }, noField('search by')],
    [
      { where: { ehrId: { $inQuery: { className: 'Goal', where: { nmae: 1 } } } } },
      noField('search by', 'nmae', 'Goal'),
    ],
    [nested({ nmae: 1 }), noField('search by', 'nmae', 'CarePlan')],
    [nested({}, { order: 'nmae' }), noField('sort by', 'nmae', 'CarePlan')],
    [
      { where: { ehrId: { $dontSelect: { key: 'nmae', query: { className: 'Ehr' } } } } },
      noField('select', 'nmae', 'Ehr'),
    ],
    [
      { where: { ehrId: { $select: { key: 'email', query: { className: '_User' } } } } },
      'email of _User is not available to select.',
    ],
    [{ keys: 'ehrId,nmae' }, noField('return')],
    [{ excludeKeys: 'nmae' }, noField('leave out')],
    [{ include: 'nmae.score' }, noField('include', 'nmae.score')],
    [{ keys: 'ehrId,*' }, '"*" in keys is not the name of a field.'],
    [{ where: { ACL: {} } }, 'ACL of Custom is not available to search by.'],
    [{ where: { $nonsense: 1 } }, 'Operator $nonsense is not supported in where.'],
    [{ where: { ehrId: { $nonsense: 1 } } }, 'Operator $nonsense is not supported in where.'],
    [{ hint: '_id_' }, 'hint is not available: the database chooses the index of every query.'],
    [{ explain: true }, 'explain is not available: query plans of the database are not shown.'],
  ]
  for (const [parameters, error] of unknownNames)
    it(`refuse ${JSON.stringify(parameters)} by name`, async () => {
      const { status, body } = await list(parameters)
      assert.deepEqual([status, body], [400, { code: 102, error }])
    })

  it('refuse to sort by two lists, and by more than 32 fields', async () => {
    await create('Custom', { ehrId, carePlanId, modelClassName: 'Lists', payload: { a: [1, 2], b: [3, 4] } })
    const where = { modelClassName: 'Lists' }
    assert.deepEqual((await list({ where, order: 'payload.a,payload.b' })).body, {
      code: 102,
      error: 'order must not name two fields that contain lists.',
    })
    assert.equal((await list({ where, order: 'payload.a' })).status, 200)
    const order = Array.from({ length: 33 }, (_, i) => `payload.a${i}`).join(',')
    assert.match((await list({ where, order })).body.error, /^order must be the names of at most 32 fields/)
  })

  it('refuse unknown names for one object, too', async () => {
    for (const [query, error] of [
      ['keys=nmae', 'CarePlan has no field "nmae" to return.'],
      ['include=nmae', 'CarePlan has no field "nmae" to include.'],
      ['hint=_id_', 'hint is not available: the database chooses the index of every query.'],
    ]) {
      const one = await request().get(`/1/classes/CarePlan/${carePlanId}?${query}`).set(user.headers)
      assert.deepEqual([one.status, one.body], [400, { code: 102, error }])
    }
  })

  it('return every field that the class names', async () => {
    const [object] = (await list({ limit: 1 })).body.results
    const { body } = await list({ limit: 1, keys: Object.keys(object).join(','), include: '*' })
    assert.deepEqual(body.results, [object])
  })

  it('show nothing to other users', async () => {
    const stranger = await createPerson()
    const { body } = await request()
      .get('/1/classes/Custom')
      .set({ ...apiKeys(), 'X-Parse-Session-Token': stranger.sessionToken })
      .query({ count: 1 })
    assert.deepEqual(body, { results: [], count: 0 })
  })
})

import assert from 'node:assert/strict'
import type { Response, Test } from 'supertest'
import { createPlanInOwnEhr } from '../harness/care/by-class-family.ts'
import { createClassClient, parseDate } from '../harness/clients/class-client.ts'
import { createAddress, createPerson, type Person, password } from '../harness/people/people.ts'
import { apiKeys, request, service } from '../harness/service/service.ts'

/** Requests that made Parse Server answer 500 or hang. Each kind must be refused at once with a code. */
describe('attack: malformed requests to the class family', () => {
  let user: Person
  let ids: Record<string, string>

  beforeEach(async () => {
    user = await createPerson()
    const { ehrId, carePlanId } = await createPlanInOwnEhr(user)
    const plan = { ehrId, carePlanId }
    const { post } = createClassClient(user)
    const created = async (className: string, body: object): Promise<string> =>
      (await post(className, { ...plan, ...body }).expect(201)).body.objectId
    const goalId = await created('Goal', { name: 'Walk' })
    ids = {
      goalId,
      Task: await created('Task', { goalId, name: 'Walk', dueDate: parseDate('2026-01-01T00:00:00.000Z') }),
      Custom: await created('Custom', { modelClassName: 'Mood', payload: { a: 1, b: 2 } }),
    }
  })

  function assertRefused({ status, body }: Response, what: unknown): void {
    const message = `${JSON.stringify(what).slice(0, 200)} -> ${status} ${JSON.stringify(body).slice(0, 200)}`
    assert.ok(status >= 400 && status < 500, message)
    assert.deepEqual([typeof body.code, typeof body.error], ['number', 'string'], message)
    assert.notEqual(body.code, 1, message)
  }
  const expectRefusal = async (sentRequest: Test, what: unknown): Promise<void> =>
    assertRefused(await sentRequest.timeout(2_000), what)
  /** A batch answers a refused request in its place, and is refused as a whole when it is too large. */
  const expectRefusedPart = async (part: object, what: unknown): Promise<void> => {
    const answer = await createClassClient(user)
      .batch([part as Record<string, unknown>])
      .timeout(2_000)
    if (!Array.isArray(answer.body)) return assertRefused(answer, what)
    assert.equal(answer.status, 200)
    assert.equal(answer.body.length, 1)
    assertRefused({ ...answer, status: 400, body: answer.body[0].error ?? {} } as Response, what)
  }

  it('refuses invalid methods in `_method`, with and without keys', async () => {
    const paths = [
      'classes/Ehr',
      'classes/Ehr/x',
      'users',
      'users/me',
      'login',
      'functions/bmi',
      'batch',
      'logout',
    ]
    for (const headers of [{}, apiKeys(), user.headers])
      for (const _method of ['HEAD', 'head', 'OPTIONS', 'PATCH', 'TRACE', 'CONNECT', 'PROPFIND', 'EXPLODE'])
        for (const path of paths)
          await expectRefusal(request().post(`/1/${path}`).set(headers).send({ _method }), [path, _method])
    await request().head('/1/classes/Ehr').set(user.headers).expect(200)
  })

  it('refuses classes named like properties of every object', async () => {
    const names = ['constructor', 'toString', 'valueOf', 'hasOwnProperty', '__proto__', 'isPrototypeOf']
    for (const name of [...names, 'prototype', 'Nope', '_Session', '_Join:users:_Role', 'x'.repeat(300)]) {
      const { get, post, put, delete: remove, list } = createClassClient(user)
      await expectRefusal(list(name), name)
      await expectRefusal(get(name, 'x'), name)
      await expectRefusal(post(name, { a: 1 }), name)
      await expectRefusal(put(name, 'x', { a: 1 }), name)
      await expectRefusal(remove(name, 'x'), name)
      await expectRefusedPart({ method: 'GET', path: `/1/classes/${name}` }, name)
      await expectRefusal(
        list('Ehr', { subjectId: { $select: { key: 'a', query: { className: name } } } }),
        name,
      )
      await expectRefusal(request().post(`/1/functions/${name}`).set(user.headers).send({}), name)
    }
  })

  it('refuses operators with wrong operands', async () => {
    const select = (i: number) => ({
      key: 'carePlanId',
      query: { className: 'Custom', where: { modelClassName: `${i}` } },
    })
    const inQuery = (where: object) => ({ ehrId: { $inQuery: { className: 'CarePlan', where } } })
    const conditions: object[] = [
      { $or: Array.from({ length: 60 }, (_, i) => ({ carePlanId: { $select: select(i) } })) },
      { $or: Array.from({ length: 101 }, (_, i) => ({ carePlanId: `${i}` })) },
      { $or: Array.from({ length: 11 }, (_, i) => ({ carePlanId: { $regex: `${i}` } })) },
      { systolic: { $in: Array.from({ length: 100_000 }, (_, i) => i) } },
      { systolic: { $in: Array.from({ length: 1_001 }, (_, i) => i) } },
      { objectId: { $containedBy: ['a'] } },
      { createdAt: { $all: ['a'] } },
      { systolic: { $containedBy: [1] } },
      { systolic: { $gt: { a: 1 } } },
      { systolic: { $lt: [1] } },
      { carePlanId: { $regex: '\u0000' } },
      { carePlanId: { $regex: '[z-a]' } },
      { carePlanId: { $regex: 'a$b' } },
      { carePlanId: { $options: 'i' } },
      { carePlanId: { $regex: 'a', $options: 'ii' } },
      { carePlanId: { __op: 'Delete' } },
      { carePlanId: { $inQuery: { className: 'Ehr', limit: -1 } } },
      { carePlanId: { $inQuery: { className: 'Ehr', order: '$x' } } },
      inQuery(inQuery(inQuery({ name: 'x' }))),
      { $relatedTo: { object: { __type: 'Pointer', className: '_Role', objectId: 'x' }, key: 'users' } },
    ]
    for (const where of conditions) {
      await expectRefusal(
        request().post('/1/classes/BloodPressure').set(user.headers).send({ _method: 'GET', where }),
        where,
      )
      await expectRefusedPart({ method: 'GET', path: '/1/classes/BloodPressure', body: { where } }, where)
    }
  })

  it('refuses more conditions in the parts of a batch than one request may have', async () => {
    const where = { carePlanId: { $select: { key: 'carePlanId', query: { className: 'Custom' } } } }
    const query = { method: 'GET', path: '/1/classes/BloodPressure', body: { where } }
    await createClassClient(user).batch(Array(10).fill(query)).expect(200)
    const { body } = await createClassClient(user).batch(Array(11).fill(query)).expect(200)
    const codes = body.map(({ error }: { error?: { code: number } }) => error?.code)
    assert.deepEqual(codes, [...Array(10).fill(undefined), 102])
  })

  it('refuses keys in the body that are not strings', async () => {
    const { 'X-Parse-Application-Id': id, 'X-Parse-REST-API-Key': key } = apiKeys()
    const strange: unknown[] = [
      5,
      true,
      [],
      [id],
      {},
      { toString: 1, valueOf: 2 },
      [[{ toString: null }]],
      '__proto__',
      'toString',
    ]
    const names = ['_ApplicationId', '_JavaScriptKey', '_SessionToken', '_MasterKey', '_InstallationId']
    for (const value of strange)
      for (const name of [
        ...names,
        '_ContentType',
        '_ClientVersion',
        '_context',
        '_RevocableSession',
        '_method',
      ])
        for (const headers of [{}, { 'X-Parse-REST-API-Key': key ?? '' }]) {
          const { sessionToken: _SessionToken } = user
          const body = { _ApplicationId: id, _SessionToken, _method: 'GET', [name]: value }
          const { status } = await request().post('/1/classes/Ehr').set(headers).send(body).timeout(2_000)
          assert.ok(status < 500, `${name} ${JSON.stringify(value)}: ${status}`)
        }
  })

  it('refuses a batch at an address that does not end with its route', async () => {
    const requests = [{ method: 'GET', path: '/1/classes/Ehr' }]
    for (const address of ['/1/batch', '/1/batch/', '/1/batch?'])
      await request().post(address).set(user.headers).send({ requests }).expect(200)
    for (const address of [
      '/1/batch?a=/batch',
      '/1/BATCH',
      '/1/Batch/',
      '/1/batch/?a=1',
      '/1//batch',
      '/1/batch//',
      '/1/%62atch',
    ])
      await expectRefusal(request().post(address).set(user.headers).send({ requests }), address)
  })

  it('refuses accounts without their required fields', async () => {
    for (const ACL of [{}, null, { '*': { read: true } }, { x: {} }, 5]) {
      const email = createAddress()
      const signUp = { username: email, email, password, ACL }
      await expectRefusal(request().post('/1/users').set(apiKeys()).send(signUp), { ACL })
      assert.equal(await service.db.collection('_User').countDocuments({ email }), 0)
      await expectRefusal(createClassClient(user).put('_User', user.mvUid, { ACL }), { ACL })
    }
    for (const name of ['username', 'email', 'password'])
      for (const value of [null, 5, {}, [], { __op: 'Delete' }, 'a\u0000b']) {
        await expectRefusal(createClassClient(user).put('_User', user.mvUid, { [name]: value }), {
          [name]: value,
        })
        await expectRefusal(
          request()
            .post('/1/login')
            .set(apiKeys())
            .send({ username: 'x', [name]: value }),
          value,
        )
      }
    for (const name of ['ACL.*', 'username.x', 'email.x', 'password.x', 'authData.x', 'createdAt.x'])
      for (const value of [1, { read: true }, { __op: 'Delete' }])
        await expectRefusal(createClassClient(user).put('_User', user.mvUid, { [name]: value }), name)
  })

  it('refuses paths into properties that have no parts', async () => {
    for (const name of ['ACL.*', 'ACL.x', 'createdAt.x', 'objectId.x', 'version.x', 'name.x', 'dueDate.iso'])
      for (const value of [1, { read: true }, { __op: 'Delete' }])
        await expectRefusal(createClassClient(user).put('Task', ids.Task ?? '', { [name]: value }), {
          [name]: value,
        })
  })
})
